// cancelJobChain: cancels the last job of a chain. A running one ends at once; with `abort`, its handler is asked to stop.

import { isHoldfastError } from '../../errors.ts'
import type { CancelVerdict, JobRef } from '../../storage/storage.ts'
import type { Dependencies } from '../dependencies.ts'
import { publishFailedWith } from '../events/chain-events.ts'
import { chainRefOf } from '../job/stored-type.ts'
import { cancelChainOptions, waitForChainOptions } from '../options.ts'
import type { CancelChainOptions } from '../types/client.ts'
import type { ChainWaits } from './chain-waits.ts'

/** @throws TypeError INVALID_ARGUMENT */
export async function cancelChain(
  { storage, publishChainEvent }: Dependencies,
  waits: ChainWaits,
  chain: JobRef,
  given: CancelChainOptions,
): Promise<CancelVerdict> {
  const { reason, abort, waitMs } = checked(given)
  const how = abort ? { abort } : { force: true }
  const [answer] = await storage.cancel([chain], { chains: true, ...how, reason })
  const { verdict, ended = [] } = answer!
  if (verdict === 'cancelled') publishChainEvent('jobChainCancelled', { ...chainRefOf(chain), reason })
  publishFailedWith(publishChainEvent, ended)
  if (verdict !== 'cancelling' || waitMs === undefined) return { verdict }
  return { verdict: await verdictAfter(waits, chain, waitMs) }
}

/** Other keys are ignored: a chain may be given as it was read. For the same reason null is no reason. */
function checked({ reason, abort, waitMs }: CancelChainOptions): { reason?: string; abort?: boolean; waitMs?: number } {
  const options = { reason: reason ?? undefined, abort, waitMs }
  for (const name of ['reason', 'abort', 'waitMs'] as const) {
    if (options[name] !== undefined) cancelChainOptions[name].check(name, options[name])
  }
  return options
}

/** How the chain ended within the time; `cancelling` if it did not. */
async function verdictAfter(waits: ChainWaits, chain: JobRef, waitMs: number): Promise<CancelVerdict['verdict']> {
  try {
    await waits.wait(chain, { timeoutMs: waitMs, pollMs: waitForChainOptions.pollMs.default })
    return 'completed'
  } catch (error) {
    if (isHoldfastError(error, 'WAIT_TIMEOUT')) return 'cancelling'
    if (isHoldfastError(error, 'CHAIN_CANCELLED')) return 'cancelled'
    if (isHoldfastError(error, 'CHAIN_FAILED')) return 'failed'
    if (isHoldfastError(error, 'CHAIN_NOT_FOUND')) return 'not_found'
    throw error
  }
}
