// deleteJobChains: whole trees, all of them or none.

import { HoldfastError } from '../../errors.ts'
import type { JobRef } from '../../storage/storage.ts'
import { afterCommit } from '../attempt/commits.ts'
import type { Ground } from '../dependencies.ts'
import { chainRefOf } from './reading.ts'
import { chainNotFound } from './waits.ts'

/** @throws CHAIN_NOT_FOUND, NOT_ROOT_CHAIN, BLOCKER_REFERENCED */
export async function deleteTrees(
  { storage, tellChains }: Ground,
  roots: readonly JobRef[],
  tx: unknown,
): Promise<void> {
  if (roots.length === 0) return
  const verdicts = await storage.remove(roots, { trees: true, tx })
  roots.forEach(({ type, id }, index) => {
    const about = { typeName: type, chainId: id }
    const verdict = verdicts[index]!
    if (verdict.verdict === 'not_found') throw chainNotFound({ typeName: type, id })
    if (verdict.verdict === 'not_root') {
      const message = `chain '${id}' was started as a blocker; its root is '${verdict.root.id}' of '${verdict.root.type}'`
      throw new HoldfastError('NOT_ROOT_CHAIN', message, { ...about, root: chainRefOf(verdict.root) })
    }
    if (verdict.verdict === 'referenced') {
      const by = verdict.by.map(chainRefOf)
      const message = `chain '${id}' is needed by ${by.length} unfinished jobs of others`
      throw new HoldfastError('BLOCKER_REFERENCED', message, { ...about, by })
    }
  })
  afterCommit(tx, (committed) => {
    const more = committed === 'unknown' ? { committed } : {}
    for (const { type, id } of roots) tellChains('jobChainDeleted', { typeName: type, id, ...more })
  })
}
