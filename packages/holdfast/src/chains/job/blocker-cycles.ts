// Chains of one batch that would wait for one another in a cycle never run: they are refused before anything is written.

import { HoldfastError } from '../../errors.ts'
import type { JobRef, NewJob } from '../../storage/storage.ts'
import { chainRefOf } from './stored-type.ts'

/**
 * @param positionOf where in the batch a chain stands; undefined: not in it
 * @throws BLOCKER_OWN_CHAIN
 */
export function checkCycles(jobs: readonly NewJob[], positionOf: (ref: JobRef) => number | undefined): void {
  const visited = new Set<number>()
  const visit = (index: number, path: readonly number[]): void => {
    if (path.includes(index)) throw cycleError(jobs[index]!)
    if (visited.has(index)) return
    for (const blocker of jobs[index]!.blockers ?? []) {
      const next = typeof blocker === 'number' ? blocker : positionOf(blocker)
      if (next !== undefined) visit(next, [...path, index])
    }
    visited.add(index)
  }
  jobs.forEach((_, index) => visit(index, []))
}

function cycleError(ref: JobRef): HoldfastError {
  const { typeName, id } = chainRefOf(ref)
  const message = `chain '${id}' of '${typeName}' would wait for itself through its blockers. Nothing was written.`
  return new HoldfastError('BLOCKER_OWN_CHAIN', message, { typeName, jobId: id })
}
