// add: decide ids, keys and blockers, then write the jobs in the order given.

import type { AddVerdict, JobRef, NewJob } from '../storage.ts'
import { blockedBy, blockJob, missingBlockers } from './block.ts'
import { type Blocker, Job, type Mark, refOf, type TypeData } from './data.ts'
import { forget } from './finish.ts'
import type { Move } from './move.ts'
import { standingOf, standingOfMark } from './standing.ts'
import { dueAt, joinGroup, wait } from './waiting.ts'

export function add(move: Move, jobs: readonly NewJob[]): AddVerdict[] {
  const before = move.data.accepted
  const verdicts: AddVerdict[] = []
  if (jobs.every(isPlain)) {
    for (let job = jobs[0]; job && addPlain(move, job, verdicts);) job = jobs[verdicts.length]
  }
  if (verdicts.length === jobs.length) return verdicts
  const rest = verdicts.length === 0 ? jobs : jobs.slice(verdicts.length)
  return [...verdicts, ...addBatch(new Batch(move, rest, missingBlockers(move, rest), before), rest, undefined)]
}

/** Nothing but its id decides about it: nearly every job. */
const isPlain = (job: NewJob): boolean => job.blockers === undefined && job.deduplication === undefined

/** False if there is something under its id: then it is for the batch to decide. */
function addPlain(move: Move, fields: NewJob, verdicts: AddVerdict[]): boolean {
  const type = move.data.typeOf(fields.type)
  if (type.jobs.has(fields.id)) return false
  const job = enter(type, new Job(type, fields, move.now, dueAt(move, fields), ++move.data.accepted), fields)
  wait(move, job)
  move.event(job, job.due ? 'queued' : 'scheduled', 0)
  verdicts.push({ verdict: 'added', job: standingOf(job) })
  return true
}

function enter(type: TypeData, job: Job, { group }: NewJob): Job {
  type.counts[job.state]++
  type.jobs.set(job.id, job)
  if (group) joinGroup(job, group.key)
  return job
}

/** For jobs whose blockers were looked for before. @param predecessor the first job continues the chain of this one */
export function addAfter(move: Move, predecessor: Job | undefined, jobs: readonly NewJob[]): AddVerdict[] {
  return addBatch(new Batch(move, jobs, undefined, move.data.accepted), jobs, predecessor)
}

function addBatch(batch: Batch, jobs: readonly NewJob[], predecessor: Job | undefined): AddVerdict[] {
  for (let index = 0; index < jobs.length; index++) batch.decide(index, index === 0 ? predecessor : undefined)
  batch.block()
  return batch.verdicts
}

/** True if a job of this id may be added: nothing is in the way, or only what failed or was cancelled. */
export function isFree(move: Move, job: Job | undefined): boolean {
  if (!job || move.isGone(job)) return true
  const { chain } = job
  const { state } = chain.tail
  if (state !== 'failed' && state !== 'cancelled') return false
  // Those who wait for a chain go on waiting for one of its name, so its tail alone cannot be replaced under them.
  return job === chain || (job === chain.tail && !chain.dependents?.size)
}

class Batch {
  readonly verdicts: AddVerdict[] = []
  readonly #move: Move
  readonly #jobs: readonly NewJob[]
  readonly #refused: Map<string, JobRef> | undefined
  /** By position: the jobs that it blocks. */
  readonly #blocks: Map<number, number[]> | undefined
  readonly #created: (Job | undefined)[] = []
  #marksTaken: Set<Mark> | undefined
  #repeated: Set<Job> | undefined
  readonly #before: number

  /** @param before the number of jobs accepted before this call */
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
      origin === 'none' ? { verdict: 'skipped' as const } : this.#inTheWay(job, origin === 'repeated', predecessor)
    if (verdict) this.verdicts.push(verdict)
    else this.#create(index, predecessor, origin instanceof Job ? origin : undefined)
  }

  /** The job that a blocker by position was started for. None: all are duplicates. Repeated: it was there before this call. */
  #originOf(index: number): Job | 'none' | 'repeated' | undefined {
    const blocked = this.#blocks?.get(index)
    if (!blocked) return undefined
    for (const position of blocked) if (this.#created[position]) return this.#created[position]
    return blocked.some((position) => this.verdicts[position]!.verdict === 'added') ? 'repeated' : 'none'
  }

  #inTheWay(job: NewJob, repeated: boolean, predecessor: Job | undefined): AddVerdict | undefined {
    const type = this.#move.data.typeOf(job.type)
    const existing = type.jobs.get(job.id)
    // By its token a repeat is known even if the job has ended since, or its time is over.
    if (existing?.token === job.token) return this.#repeatOf(existing)
    if (!isFree(this.#move, existing)) return { verdict: 'duplicate', by: 'id', job: standingOf(existing!) }
    // A continuation has the key of its chain.
    const mark = predecessor || !job.deduplication ? undefined : this.#markInForce(type, job.deduplication.key)
    const isOwn = mark?.token === job.token && (mark.shared || mark.id === job.id)
    if (mark && !isOwn) return { verdict: 'duplicate', by: 'key', job: standingOfMark(this.#move, mark) }
    if (repeated || (mark && !this.#marksTaken?.has(mark))) {
      return { verdict: 'added', job: { type: job.type, id: job.id, token: job.token, state: 'completed' } }
    }
    return undefined
  }

  /** Told as the first time; but an id that one call names twice is taken by its first mention. */
  #repeatOf(job: Job): AddVerdict {
    if (this.#repeated?.has(job) || job.accepted > this.#before) {
      return { verdict: 'duplicate', by: 'id', job: standingOf(job) }
    }
    ;(this.#repeated ??= new Set()).add(job)
    return { verdict: 'added', job: standingOf(job) }
  }

  #markInForce(type: TypeData, key: string): Mark | undefined {
    const mark = type.keys.get(key)
    if (!mark) return undefined
    const { now } = this.#move
    const inForce = mark.until === Infinity ? mark.job && !this.#move.isGone(mark.job) : now < mark.until
    return inForce ? mark : undefined
  }

  #create(index: number, predecessor: Job | undefined, origin: Job | undefined): void {
    const move = this.#move
    const fields = this.#jobs[index]!
    const replaced = move.data.types.get(fields.type)?.jobs.get(fields.id)
    if (replaced) forget(move, replaced.chain)
    const type = move.data.typeOf(fields.type)
    const job = new Job(type, fields, move.now, dueAt(move, fields), ++move.data.accepted, predecessor, origin)
    if (fields.blockers) job.blockers = fields.blockers.map((blocker) => this.#refOfBlocker(blocker))
    if (replaced && replaced === replaced.chain) job.dependents = replaced.dependents
    enter(type, job, fields)
    if (predecessor) continueChain(predecessor, job)
    else if (fields.deduplication) this.#takeKey(job, fields.deduplication)
    this.#created[index] = job
    if (job.blockers) {
      move.keep(job)
    } else {
      wait(move, job)
      move.event(job, job.due ? 'queued' : 'scheduled', 0)
    }
    this.verdicts.push({ verdict: 'added', job: standingOf(job) })
  }

  #refOfBlocker(blocker: JobRef | number): Blocker {
    const { type, id } = typeof blocker === 'number' ? this.#jobs[blocker]! : blocker
    return { ref: { type, id }, done: false }
  }

  #takeKey(job: Job, { key, mode, windowMs, shared = false }: NonNullable<NewJob['deduplication']>): void {
    const { marks } = this.#move.data
    const held = job.type.keys.get(key)
    if (held && this.#marksTaken?.has(held)) {
      job.mark = held
      return
    }
    if (held && held.heapIndex >= 0) marks.remove(held)
    const until = windowMs === undefined ? Infinity : this.#move.now + windowMs
    const { id, token, type } = job
    const mark: Mark = { key, type, id, token, mode, shared, until, job, heapIndex: -1 }
    if (mode === 'throttle' && until !== Infinity) marks.push(mark)
    type.keys.set(key, mark)
    job.mark = mark
    ;(this.#marksTaken ??= new Set()).add(mark)
  }

  /** Blockers stand behind what they block, so from the end each finds its own decided. */
  block(): void {
    for (let index = this.#jobs.length - 1; index >= 0; index--) {
      const job = this.#created[index]
      if (!job?.blockers) continue
      this.#resolveDuplicates(job, index)
      blockJob(this.#move, job)
    }
    // One that failed with its blocker may have taken others along.
    this.#created.forEach((job, index) => {
      if (job?.blockers) this.verdicts[index] = { verdict: 'added', job: standingOf(job) }
    })
  }

  /** A blocker by position that is a duplicate stands for the chain that is in its way. */
  #resolveDuplicates(job: Job, index: number): void {
    const blockers = this.#jobs[index]!.blockers!
    if (!blockers.some((blocker) => typeof blocker === 'number')) return
    job.blockers!.length = 0
    const refs = blockers.map((blocker): Blocker => {
      const verdict = typeof blocker === 'number' ? this.verdicts[blocker] : undefined
      if (verdict?.verdict !== 'duplicate') return this.#refOfBlocker(blocker)
      const inTheWay = this.#move.find(verdict.job)?.chain
      const { type, id } = inTheWay ? refOf(inTheWay) : verdict.job
      return { ref: { type, id }, done: false }
    })
    job.blockers!.push(...refs)
  }
}

function continueChain(predecessor: Job, job: Job): void {
  const { chain } = predecessor
  chain.jobs ??= [chain]
  chain.jobs.push(job)
  chain.tail = job
}
