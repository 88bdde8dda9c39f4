// add: decides about each job in turn (id, key, blockers), and writes it. `addPlain` does nearly all jobs, `Decider` the rest.

import type { AddVerdict, JobRef, NewJob, Standing } from '../storage.ts'
import { blockedBy, blockJob, missingBlockers, siblingName, siblingsOf } from './job/block.ts'
import { forget } from './job/finish.ts'
import { isInForce } from './job/key.ts'
import { type Blocker, find, isGone, type Job, type Mark, type Move, refOf } from './move.ts'
import { standingOf, standingOfMark } from './job/standing.ts'
import { dueAt, emitWaiting, wait, waitingState } from './job/wait.ts'

export function add(move: Move, jobs: readonly NewJob[]): AddVerdict[] {
  // Distinguishes an id that this call names twice from the repeat of an earlier call.
  const before = move.lastNumber
  // oxlint-disable-next-line unicorn/no-new-array -- its length is known: a growing array is copied each time
  const verdicts = new Array<AddVerdict>(jobs.length)
  let added = 0
  if (jobs.every(isPlain)) {
    for (; added < jobs.length; added++) {
      const verdict = addPlain(move, jobs[added]!)
      if (!verdict) break
      verdicts[added] = verdict
    }
  }
  if (added === jobs.length) return verdicts
  const left = added === 0 ? jobs : jobs.slice(added)
  const decider = new Decider(move, left, missingBlockers(move, left), before)
  return [...verdicts.slice(0, added), ...decideAll(decider, left, undefined)]
}

/** True of a job that only its id decides about: nearly every job. */
const isPlain = ({ blockers, deduplication, group }: NewJob): boolean =>
  blockers === undefined && deduplication === undefined && group === undefined

/** Undefined if a job has its id: then the Decider decides. */
function addPlain(move: Move, fields: NewJob): AddVerdict | undefined {
  const { type, id, token } = fields
  const runAt = dueAt(move, fields)
  const state = waitingState(move, runAt)
  const job = move.createWaiting(fields, runAt, state)
  if (!job) return undefined
  move.wake(job.type)
  emitWaiting(move, job)
  return { verdict: 'added', job: { type, id, token, state, createdAt: move.now } }
}

/** Adds jobs whose blockers were checked before. @param predecessor the job whose chain the first one continues */
export function addAfter(move: Move, predecessor: Job | undefined, jobs: readonly NewJob[]): AddVerdict[] {
  return decideAll(new Decider(move, jobs, undefined, move.lastNumber), jobs, predecessor)
}

function decideAll(decider: Decider, jobs: readonly NewJob[], predecessor: Job | undefined): AddVerdict[] {
  for (let index = 0; index < jobs.length; index++) decider.decide(index, index === 0 ? predecessor : undefined)
  decider.block()
  return decider.verdicts
}

/** True if a job of this id may be added: the id is unused, or its chain failed or was cancelled. */
export function isFree(move: Move, job: Job | undefined): boolean {
  if (!job || isGone(move, job)) return true
  const { chain } = job
  const { state } = chain.tail
  if (state !== 'failed' && state !== 'cancelled') return false
  // Dependents of a chain keep waiting for a chain of its name, so its tail alone cannot be replaced.
  return job === chain || (job === chain.tail && !chain.dependents?.size)
}

/** Decides about the jobs of one call, where an id is taken, or a job has a key, a group or blockers. */
class Decider {
  readonly verdicts: AddVerdict[] = []
  readonly #move: Move
  readonly #jobs: readonly NewJob[]
  readonly #refused: Map<string, JobRef> | undefined
  /** By the position of a blocker: the positions of the jobs that it blocks. */
  readonly #blocks: Map<number, number[]> | undefined
  #siblings: ReadonlyMap<string, number> | undefined
  readonly #created: (Job | undefined)[] = []
  #marksTaken: Set<Mark> | undefined
  #repeated: Set<Job> | undefined
  readonly #before: number

  /** @param before the last number taken before this call: a job with a higher one was added by this call */
  constructor(move: Move, jobs: readonly NewJob[], refused: Map<string, JobRef> | undefined, before: number) {
    this.#before = before
    this.#move = move
    this.#jobs = jobs
    this.#refused = refused
    this.#blocks = blockedBy(jobs)
  }

  decide(index: number, predecessor: Job | undefined): void {
    const job = this.#jobs[index]!
    const missing = this.#refused?.get(job.token)
    if (missing) {
      this.verdicts.push({ verdict: 'blocker_not_found', blocker: missing })
      return
    }
    const origin = this.#originOf(index)
    const verdict =
      origin === 'none' ? { verdict: 'skipped' as const } : this.#existing(job, origin === 'repeated', predecessor)
    if (verdict) this.verdicts.push(verdict)
    else this.#create(index, predecessor, typeof origin === 'object' ? origin : undefined)
  }

  /**
   * The job that a blocker by position is started for. `none`: all such jobs are duplicates. `repeated`: an earlier call
   * added it.
   */
  #originOf(index: number): Job | 'none' | 'repeated' | undefined {
    const blocked = this.#blocks?.get(index)
    if (!blocked) return undefined
    for (const position of blocked) if (this.#created[position]) return this.#created[position]
    return blocked.some((position) => this.verdicts[position]!.verdict === 'added') ? 'repeated' : 'none'
  }

  /** The verdict if a job or key exists already. Undefined if the job is to be created. */
  #existing(job: NewJob, repeated: boolean, predecessor: Job | undefined): AddVerdict | undefined {
    const existing = this.#move.stored(job)
    // The token identifies a repeat even if the job has ended or expired since.
    if (existing?.token === job.token) return this.#repeatOf(existing)
    if (!isFree(this.#move, existing)) return { verdict: 'duplicate', by: 'id', job: standingOf(this.#move, existing!) }
    // A continuation shares the key of its chain.
    const mark = predecessor || !job.deduplication ? undefined : this.#markInForce(job.type, job.deduplication.key)
    const isOwn = mark?.token === job.token && (mark.shared || mark.id === job.id)
    if (mark && !isOwn) return { verdict: 'duplicate', by: 'key', job: this.#holderOf(job.type, mark) }
    if (repeated || (mark && !this.#marksTaken?.has(mark))) {
      return { verdict: 'added', job: { type: job.type, id: job.id, token: job.token, state: 'completed' } }
    }
    return undefined
  }

  /** Answers a repeat as the first call. An id that one call names twice is a duplicate of its first mention. */
  #repeatOf(job: Job): AddVerdict {
    if (this.#repeated?.has(job) || job.accepted > this.#before) {
      return { verdict: 'duplicate', by: 'id', job: standingOf(this.#move, job) }
    }
    ;(this.#repeated ??= new Set()).add(job)
    return { verdict: 'added', job: standingOf(this.#move, job) }
  }

  #markInForce(name: string, key: string): Mark | undefined {
    const type = this.#move.typeOf(name)
    const mark = type && this.#move.markOf(type, key)
    return mark && isInForce(this.#move, mark) ? mark : undefined
  }

  #holderOf(name: string, mark: Mark): Standing {
    return standingOfMark(this.#move, this.#move.typeOf(name)!, mark)
  }

  #create(index: number, predecessor: Job | undefined, origin: Job | undefined): void {
    const move = this.#move
    const fields = this.#jobs[index]!
    const replaced = move.stored(fields)
    const isChain = replaced !== undefined && replaced === replaced.chain
    if (replaced) forget(move, replaced.chain)
    const job = move.create(fields, dueAt(move, fields), predecessor, origin)
    if (fields.blockers) job.blockers = fields.blockers.map((blocker) => this.#refOfBlocker(blocker))
    if (isChain) move.inheritDependents(job, replaced)
    if (predecessor) move.continueChain(predecessor.chain, job)
    else if (fields.deduplication) this.#takeKey(job, fields.deduplication)
    this.#created[index] = job
    if (job.blockers) {
      move.kept.add(job)
    } else {
      wait(move, job)
      emitWaiting(move, job)
    }
    this.verdicts.push({ verdict: 'added', job: standingOf(this.#move, job) })
  }

  /** Undefined if the blocker is not in this batch. */
  #positionOf(blocker: JobRef | number, token: string): number | undefined {
    if (typeof blocker === 'number') return blocker
    this.#siblings ??= siblingsOf(this.#jobs)
    return this.#siblings.get(siblingName(blocker, token))
  }

  #refOfBlocker(blocker: JobRef | number): Blocker {
    const { type, id } = typeof blocker === 'number' ? this.#jobs[blocker]! : blocker
    return { ref: { type, id }, done: false }
  }

  #takeKey(job: Job, { key, mode, windowMs, shared = false }: NonNullable<NewJob['deduplication']>): void {
    const held = this.#move.markOf(job.type, key)
    if (held && this.#marksTaken?.has(held)) {
      job.mark = held
      return
    }
    const until = windowMs === undefined ? Infinity : this.#move.now + windowMs
    const { id, token } = job
    const mark = this.#move.holdKey(job, { key, id, token, mode, shared, until })
    job.mark = mark
    ;(this.#marksTaken ??= new Set()).add(mark)
  }

  /** Blockers come after the jobs they block. So from the end, each job finds its blockers decided. */
  block(): void {
    for (let index = this.#jobs.length - 1; index >= 0; index--) {
      const job = this.#created[index]
      if (!job?.blockers) continue
      this.#resolveDuplicates(job, index)
      blockJob(this.#move, job)
    }
    // A job that failed with its blocker may have failed others.
    this.#created.forEach((job, index) => {
      if (job?.blockers) this.verdicts[index] = { verdict: 'added', job: standingOf(this.#move, job) }
    })
  }

  /** Replaces blockers of this batch that are duplicates by the existing chains. */
  #resolveDuplicates(job: Job, index: number): void {
    if (this.#jobs.length === 1) return
    const { blockers, token } = this.#jobs[index]!
    job.blockers!.length = 0
    const refs = blockers!.map((blocker): Blocker => {
      const position = this.#positionOf(blocker, token)
      const verdict = position === undefined ? undefined : this.verdicts[position]
      if (verdict?.verdict !== 'duplicate') return this.#refOfBlocker(blocker)
      const chain = find(this.#move, verdict.job)?.chain
      const { type, id } = chain ? refOf(chain) : verdict.job
      return { ref: { type, id }, done: false }
    })
    job.blockers!.push(...refs)
  }
}
