// add: decide ids, keys and blockers, then write the jobs in the order given.

import { isTerminal } from '../../job/states.ts'
import type { AddVerdict, JobRef, NewJob, Standing } from '../storage.ts'
import { type Blocker, Job, type Mark, refOf, type TypeData } from './data.ts'
import { type Aftermath, expireLater, finish, forget, unblock } from './finish.ts'
import type { Move } from './move.ts'
import { dueAt, joinGroup, wait } from './waiting.ts'

export function add(move: Move, jobs: readonly NewJob[]): AddVerdict[] {
  return addAfter(move, undefined, jobs)
}

/** @param predecessor the first job continues the chain of this one */
export function addAfter(move: Move, predecessor: Job | undefined, jobs: readonly NewJob[]): AddVerdict[] {
  const batch = new Batch(move, jobs)
  for (let index = 0; index < jobs.length; index++) batch.decide(index, index === 0 ? predecessor : undefined)
  batch.block()
  return batch.verdicts
}

/** The external blockers that do not exist, by the token that they refuse. */
export function missingBlockers(move: Move, jobs: readonly NewJob[]): Map<string, JobRef> | undefined {
  let missing: Map<string, JobRef> | undefined
  for (const job of jobs) {
    if (!job.blockers) continue
    for (const blocker of job.blockers) {
      if (typeof blocker === 'number' || move.find(blocker)?.chainIndex === 0) continue
      missing ??= new Map()
      if (!missing.has(job.token)) missing.set(job.token, blocker)
    }
  }
  return missing
}

/** True if a job of this id may be added: nothing is in the way, or only what failed or was cancelled. */
export function isFree(move: Move, job: Job | undefined): boolean {
  if (!job || move.isGone(job)) return true
  return job === job.chain && (job.tail.state === 'failed' || job.tail.state === 'cancelled')
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

  constructor(move: Move, jobs: readonly NewJob[]) {
    this.#move = move
    this.#jobs = jobs
    this.#refused = missingBlockers(move, jobs)
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
    const verdict = origin === 'none' ? { verdict: 'skipped' as const } : this.#inTheWay(job, origin === 'repeated')
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

  #inTheWay(job: NewJob, repeated: boolean): AddVerdict | undefined {
    const type = this.#move.data.typeOf(job.type)
    const existing = type.jobs.get(job.id)
    // By its token a repeat is known even if the job has ended since, or its time is over.
    if (existing?.token === job.token) return { verdict: 'added', job: standingOf(existing) }
    if (!isFree(this.#move, existing)) return { verdict: 'duplicate', by: 'id', job: standingOf(existing!) }
    const mark = job.deduplication && this.#markInForce(type, job.deduplication.key)
    if (mark && mark.token !== job.token) return { verdict: 'duplicate', by: 'key', job: standingOfMark(mark) }
    if (repeated || (mark && !this.#marksTaken?.has(mark))) {
      return { verdict: 'added', job: { type: job.type, id: job.id, token: job.token, state: 'completed' } }
    }
    return undefined
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
    const type = move.data.typeOf(fields.type)
    const replaced = type.jobs.get(fields.id)
    if (replaced) forget(move, replaced.chain)
    const job = new Job(type, fields, {
      now: move.now,
      runAt: dueAt(move, fields),
      accepted: ++move.data.accepted,
      after: predecessor,
      origin,
      blockers: fields.blockers && distinct(fields.blockers.map((blocker) => this.#refOfBlocker(blocker))),
    })
    job.dependents = replaced?.dependents
    type.counts[job.state]++
    type.jobs.set(job.id, job)
    if (predecessor) continueChain(predecessor, job)
    else if (fields.deduplication) this.#takeKey(job, fields.deduplication)
    if (fields.group) joinGroup(job, fields.group.key)
    this.#created[index] = job
    if (!job.blockers) {
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
    if (held && this.#marksTaken?.has(held)) return
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
      this.verdicts[index] = { verdict: 'added', job: standingOf(job) }
    }
  }

  /** A blocker by position that is a duplicate stands for the chain that is in its way. */
  #resolveDuplicates(job: Job, index: number): void {
    const blockers = this.#jobs[index]!.blockers!
    if (!blockers.some((blocker) => typeof blocker === 'number')) return
    job.blockers!.length = 0
    const refs = blockers.map((blocker): Blocker => {
      const verdict = typeof blocker === 'number' ? this.verdicts[blocker] : undefined
      if (verdict?.verdict !== 'duplicate') return this.#refOfBlocker(blocker)
      return { ref: { type: verdict.job.type, id: verdict.job.id }, done: false }
    })
    job.blockers!.push(...distinct(refs))
  }
}

/** Counts what the job waits for, and lets it wait for that, or go on, or fail with it. */
export function blockJob(move: Move, job: Job, onFailure = job.onBlockerFailure): void {
  let failed = false
  job.openBlockers = 0
  for (const blocker of job.blockers!) {
    const chain = move.find(blocker.ref)
    if (!chain) {
      // Under a key whose window outlived the record.
      blocker.done = true
      continue
    }
    ;(chain.dependents ??= new Set()).add(job)
    const { state } = chain.tail
    if (isTerminal(state)) expireLater(move, chain)
    if (state === 'completed') blocker.done = true
    else if (isTerminal(state)) failed = true
    if (!blocker.done) job.openBlockers++
  }
  const after: Aftermath = { ended: [], unblocked: [] }
  if (failed && onFailure === 'fail') finish(move, job, { state: 'failed', reason: 'blocker_failed' }, after)
  else if (job.openBlockers === 0) unblock(move, job)
}

function continueChain(predecessor: Job, job: Job): void {
  const { chain } = predecessor
  chain.jobs ??= [chain]
  chain.jobs.push(job)
  chain.tail = job
}

function blockedBy(jobs: readonly NewJob[]): Map<number, number[]> | undefined {
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

function distinct(blockers: readonly Blocker[]): Blocker[] {
  return blockers.filter(
    ({ ref }, index) =>
      blockers.findIndex(({ ref: other }) => other.id === ref.id && other.type === ref.type) === index,
  )
}

export function standingOf(job: Job): Standing {
  const { state, result } = job === job.chain ? job.tail : job
  const standing = { ...refOf(job), token: job.token, state }
  return state === 'completed' && result ? { ...standing, result } : standing
}

function standingOfMark({ job, type, id, token }: Mark): Standing {
  return job ? standingOf(job) : { type: type.name, id, token, state: 'completed' }
}
