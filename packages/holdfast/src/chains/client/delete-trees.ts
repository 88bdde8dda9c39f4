// deleteJobChains: whole trees, all of them or none.

import { HoldfastError } from '../../errors.ts'
import type { JobRef, RemoveVerdict } from '../../storage/storage.ts'
import type { Dependencies } from '../dependencies.ts'
import { chainNotFound } from '../job/not-found.ts'
import { chainRefOf } from '../job/stored-type.ts'
import { afterCommit } from '../transactions/after-commit.ts'
import type { ChainRef } from '../types/records.ts'

/** @throws CHAIN_NOT_FOUND, NOT_ROOT_CHAIN, BLOCKER_REFERENCED */
export async function deleteTrees(
  { storage, publishChainEvent }: Dependencies,
  roots: readonly JobRef[],
  tx: unknown,
): Promise<void> {
  if (roots.length === 0) return
  const verdicts = await storage.remove(roots, { trees: true, tx })
  const chains = roots.map(chainRefOf)
  chains.forEach((chain, index) => checkRemoved(chain, verdicts[index]!))
  afterCommit(tx, (committed) => {
    const more = committed === 'unknown' ? { committed } : {}
    for (const chain of chains) publishChainEvent('jobChainDeleted', { ...chain, ...more })
  })
}

function checkRemoved(chain: ChainRef, verdict: RemoveVerdict): void {
  const { typeName, id } = chain
  const about = { typeName, chainId: id }
  if (verdict.verdict === 'not_found') throw chainNotFound(chain)
  if (verdict.verdict === 'not_root') {
    const root = chainRefOf(verdict.root)
    const message = `chain '${id}' of '${typeName}' was started as a blocker. Nothing was deleted. Delete its root '${root.id}' of '${root.typeName}'.`
    throw new HoldfastError('NOT_ROOT_CHAIN', message, { ...about, root })
  }
  if (verdict.verdict === 'referenced') {
    const by = verdict.by.map(chainRefOf)
    const message = `chain '${id}' of '${typeName}' blocks ${by.length} unfinished jobs of other trees. Nothing was deleted.`
    throw new HoldfastError('BLOCKER_REFERENCED', message, { ...about, by })
  }
}
