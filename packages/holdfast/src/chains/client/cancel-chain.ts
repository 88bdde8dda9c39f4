// cancelJobChain: cancels the last job of a chain at once, a running one too.

import type { CancelVerdict, JobRef } from '../../storage/storage.ts'
import type { Dependencies } from '../dependencies.ts'
import { tellFailedWith } from '../events/chain-events.ts'
import { chainRefOf } from '../job/stored-type.ts'
import { cancelChainOptions } from '../options.ts'

/** @param given null as well as undefined is none: a cancelled chain may be given as it was read */
export async function cancelChain(
  { storage, tellChains }: Dependencies,
  chain: JobRef,
  given: string | null | undefined,
): Promise<CancelVerdict> {
  const reason = given ?? undefined
  if (reason !== undefined) cancelChainOptions.reason.check('reason', reason)
  const [answer] = await storage.cancel([chain], { chains: true, force: true, reason })
  const { verdict, ended = [] } = answer!
  if (verdict === 'cancelled') tellChains('jobChainCancelled', { ...chainRefOf(chain), reason })
  tellFailedWith(tellChains, ended)
  return { verdict }
}
