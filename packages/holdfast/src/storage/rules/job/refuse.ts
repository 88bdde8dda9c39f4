// Refusals of an add by the depth of a queue or the kind of a group. They apply to all jobs of a token, or to none.

import type { AddVerdict, NewJob } from '../../storage.ts'
import { find, type Job, type Move } from '../move.ts'
import { isWaiting } from './states.ts'

type Refused = Extract<AddVerdict, { readonly verdict: 'queue_full' | 'group_kind' }>

/** True of a job that a queue or group can refuse. */
export const isRefusable = ({ group, maxWaiting }: NewJob): boolean => group !== undefined || maxWaiting !== undefined

/** The refusals of one add. */
export class Refusals {
  readonly #move: Move
  /** The jobs of each token that is not yet decided. */
  readonly #undecided: Map<string, NewJob[]>
  readonly #refused = new Map<string, Refused>()

  constructor(move: Move, jobs: readonly NewJob[]) {
    this.#move = move
    this.#undecided = Map.groupBy(jobs, ({ token }) => token)
  }

  /** The refusal of a token of several jobs, decided before the first of them is added. */
  ofToken({ token }: NewJob): Refused | undefined {
    const jobs = this.#undecided.get(token)
    if (jobs && jobs.length > 1) {
      // A repeat may add a job that was a duplicate before. That one is decided alone.
      if (jobs.some((job) => isKnown(this.#move, job))) this.#undecided.set(token, [])
      else this.#undecided.delete(token)
      const refused = refusalIn(this.#move, jobs)
      if (refused) this.#refused.set(token, refused.verdict)
    }
    return this.#refused.get(token)
  }

  /** The refusal of a job that is decided alone, and no duplicate. */
  ofOne(job: NewJob): Refused | undefined {
    if (!this.#undecided.has(job.token) || !isRefusable(job)) return undefined
    return refusalOf(this.#move, job, this.#move.stored(job))
  }
}

/**
 * The refusal of jobs that are added together, all or none. Each of them counts as if it were no duplicate: which ones are is
 * only known when they are added. Jobs whose token is stored are a repeat, which is not refused.
 */
export function refusalIn(move: Move, jobs: readonly NewJob[]): { token: string; verdict: Refused } | undefined {
  if (!jobs.some(isRefusable)) return undefined
  const repeated = new Set<string>()
  for (const job of jobs) if (isKnown(move, job)) repeated.add(job.token)
  const added = repeated.size === 0 ? jobs : jobs.filter(({ token }) => !repeated.has(token))
  const counts = new Map<string, number>()
  const kinds = new Map<string, boolean>()
  for (const job of added) {
    for (const name of namesOf(job)) if (name) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  for (const job of added) {
    const verdict = otherKind(move, job, 0, kinds)
    if (verdict) return { token: job.token, verdict }
  }
  for (const job of added) {
    const [ofType, ofGroup] = namesOf(job)
    const more = { type: counts.get(ofType)!, group: ofGroup === undefined ? 0 : counts.get(ofGroup)! }
    const verdict = tooMany(move, job, more)
    if (verdict) return { token: job.token, verdict }
  }
  return undefined
}

/** The job was added before under its token. */
const isKnown = (move: Move, job: NewJob): boolean => find(move, job)?.token === job.token

/** The refusal of one job, which is no duplicate. @param replaced the waiting job that it takes the place of */
function refusalOf(move: Move, job: NewJob, replaced: Job | undefined): Refused | undefined {
  const isFreed = replaced !== undefined && isWaiting(replaced.state)
  const isInGroup = isFreed && job.group !== undefined && replaced.group?.key === job.group.key
  const more = { type: isFreed ? 0 : 1, group: isInGroup ? 0 : 1 }
  return otherKind(move, job, isInGroup ? 1 : 0) ?? tooMany(move, job, more)
}

/** The type and the group of a job, as names of counts. */
const namesOf = ({ type, group }: NewJob): [type: string, group?: string] =>
  group ? [JSON.stringify([type]), JSON.stringify([type, group.key])] : [JSON.stringify([type])]

/** @param leaving members that leave the group first @param kinds of the groups of jobs that are added together */
function otherKind(move: Move, job: NewJob, leaving: number, kinds?: Map<string, boolean>): Refused | undefined {
  if (!job.group) return undefined
  const isOrdered = job.group.ordered === true
  const name = namesOf(job)[1]!
  const type = move.typeOf(job.type)
  const group = type && move.groupOf(type, job.group.key)
  const ordered = group && group.size > leaving ? group.ordered : (kinds?.get(name) ?? isOrdered)
  kinds?.set(name, ordered)
  return ordered === isOrdered ? undefined : { verdict: 'group_kind', ordered }
}

/** @param more number of waiting jobs that the add brings */
function tooMany(
  move: Move,
  job: NewJob,
  more: { readonly type: number; readonly group: number },
): Refused | undefined {
  if (!job.maxWaiting) return undefined
  const { type: ofType = Infinity, group: ofGroup = Infinity } = job.maxWaiting
  const type = move.typeOf(job.type)
  if (ofType < Infinity) {
    const waiting = type ? move.waitingOf(type) : 0
    if (waiting + more.type > ofType) return { verdict: 'queue_full', of: 'type', waiting }
  }
  if (ofGroup < Infinity && job.group) {
    const group = type && move.groupOf(type, job.group.key)
    const waiting = group ? group.size - group.running : 0
    if (waiting + more.group > ofGroup) return { verdict: 'queue_full', of: 'group', waiting }
  }
  return undefined
}

/** True if the group of an ended job has unfinished members of the other kind by now. */
export function hasOtherKind(move: Move, { type, group, membership }: Job): boolean {
  if (!group) return false
  const { size, ordered } = move.groupOf(type, group.key)
  return size > 0 && ordered !== (membership !== 'unordered')
}
