// Blockers: which chains a job waits for, and what their state makes of it.

import { isTerminal } from './states.ts'
import type { JobRef, NewJob } from '../../storage.ts'
import { type Aftermath, expireLater, finish, unblock } from './finish.ts'
import { find, type Job, type Move } from '../move.ts'

/** The blockers that do not exist, by the token that they refuse. @param chains those of the jobs that begin one */
export function missingBlockers(
  move: Move,
  jobs: readonly NewJob[],
  chains: readonly NewJob[] = jobs,
): Map<string, JobRef> | undefined {
  let missing: Map<string, JobRef> | undefined
  let siblings: Map<string, number> | undefined
  /** It comes with the job, in the same call. */
  const comes = (job: NewJob, ref: JobRef): boolean => {
    siblings ??= siblingsOf(chains)
    const position = siblings.get(siblingName(ref, job.token))
    return position !== undefined && chains[position] !== job
  }
  for (const job of jobs) {
    // What stands already is a repeat: it was decided when its blockers were there.
    if (!job.blockers || move.stored(job)?.token === job.token) continue
    for (const blocker of job.blockers) {
      if (typeof blocker === 'number' || comes(job, blocker)) continue
      const chain = find(move, blocker)
      if (chain?.chainIndex === 0) {
        move.kept.add(chain)
        continue
      }
      missing ??= new Map()
      if (!missing.has(job.token)) missing.set(job.token, blocker)
    }
  }
  return missing
}

/** The jobs of a call, by what they name each other; the first mention of each. */
export function siblingsOf(jobs: readonly NewJob[]): Map<string, number> {
  const siblings = new Map<string, number>()
  jobs.forEach((job, index) => {
    const name = siblingName(job, job.token)
    if (!siblings.has(name)) siblings.set(name, index)
  })
  return siblings
}

export const siblingName = ({ type, id }: JobRef, token: string): string => JSON.stringify([type, id, token])

/** By position: the jobs that it blocks. */
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

/** Counts what the job waits for, and lets it wait for that, or go on, or fail with it. */
export function blockJob(move: Move, job: Job, onFailure = job.onBlockerFailure): void {
  let failed = false
  const open = new Set<Job>()
  for (const blocker of job.blockers!) {
    const chain = find(move, blocker.ref)
    const state = chain?.tail.state
    // Gone: it had completed before, or stood for a key whose window outlived the record.
    blocker.done = !chain || state === 'completed'
    if (!chain) continue
    move.dependentsOf(chain).add(job)
    if (isTerminal(chain.tail.state)) expireLater(move, chain)
    if (state === 'failed' || state === 'cancelled') failed = true
    if (!blocker.done) open.add(chain)
  }
  job.openBlockers = open.size
  move.touch(job)
  const after: Aftermath = { ended: [], unblocked: [] }
  if (failed && onFailure === 'fail') finish(move, job, { state: 'failed', reason: 'blocker_failed' }, after)
  else if (job.openBlockers === 0) unblock(move, job)
}
