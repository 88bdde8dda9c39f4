// Blockers: the chains that a job waits for, and what their state means for it.

import { isTerminal } from './states.ts'
import type { JobRef, NewJob } from '../../storage.ts'
import { type Effects, expireLater, finish, unblock } from './finish.ts'
import { findChain, type Job, type Move } from '../move.ts'

/** The missing blockers, by the token of the jobs that they refuse. @param chains the jobs of the call that begin a chain */
export function missingBlockers(
  move: Move,
  jobs: readonly NewJob[],
  chains: readonly NewJob[] = jobs,
): Map<string, JobRef> | undefined {
  let missing: Map<string, JobRef> | undefined
  let siblings: Map<string, number> | undefined
  /** True if the same call adds the blocker. */
  const isSibling = (job: NewJob, ref: JobRef): boolean => {
    siblings ??= siblingsOf(chains)
    const position = siblings.get(siblingName(ref, job.token))
    return position !== undefined && chains[position] !== job
  }
  for (const job of jobs) {
    // An existing job is a repeat: its blockers were checked by the first call.
    if (!job.blockers || move.stored(job)?.token === job.token) continue
    for (const blocker of job.blockers) {
      if (typeof blocker === 'number' || isSibling(job, blocker)) continue
      const chain = findChain(move, blocker)
      if (chain) {
        move.kept.add(chain)
        continue
      }
      missing ??= new Map()
      if (!missing.has(job.token)) missing.set(job.token, blocker)
    }
  }
  return missing
}

/** The positions of the jobs of a call by their names; the first position of each. */
export function siblingsOf(jobs: readonly NewJob[]): Map<string, number> {
  const siblings = new Map<string, number>()
  jobs.forEach((job, index) => {
    const name = siblingName(job, job.token)
    if (!siblings.has(name)) siblings.set(name, index)
  })
  return siblings
}

export const siblingName = ({ type, id }: JobRef, token: string): string => JSON.stringify([type, id, token])

/** By the position of a blocker: the positions of the jobs that it blocks. */
export function blockedBy(jobs: readonly NewJob[]): Map<number, number[]> | undefined {
  let blocks: Map<number, number[]> | undefined
  for (let index = 0; index < jobs.length; index++) {
    for (const blocker of jobs[index]!.blockers ?? []) {
      if (typeof blocker !== 'number') continue
      blocks ??= new Map()
      const list = blocks.get(blocker)
      if (list) list.push(index)
      else blocks.set(blocker, [index])
    }
  }
  return blocks
}

/** Counts the open blockers of a job. The job waits for them, becomes ready, or fails with one of them. */
export function blockJob(move: Move, job: Job, onFailure = job.onBlockerFailure): void {
  let failed = false
  const open = new Set<Job>()
  for (const blocker of job.blockers!) {
    const chain = findChain(move, blocker.ref)
    const state = chain?.tail.state
    // A chain that is gone had completed, or was known by a key whose window outlived its record.
    blocker.done = !chain || state === 'completed' || (onFailure === 'run' && isTerminal(chain.tail.state))
    if (!chain) continue
    move.dependentsOf(chain).add(job)
    if (isTerminal(chain.tail.state)) expireLater(move, chain)
    if (state === 'failed' || state === 'cancelled') failed = true
    if (!blocker.done) open.add(chain)
  }
  job.openBlockers = open.size
  move.touch(job)
  const effects: Effects = { ended: [], unblocked: [] }
  if (failed && onFailure === 'fail') finish(move, job, { state: 'failed', reason: 'blocker_failed' }, effects)
  else if (job.openBlockers === 0) unblock(move, job)
}
