// add: decides about each job in turn (id, key, blockers), and writes it. `addPlain` does nearly all jobs (add-plain.ts), `Decider` the rest.

import type { AddVerdict, Deduplication, JobRef, NewJob, Standing } from '../storage.ts'
import { addPlain, isPlain } from './add-plain.ts'
import { blockedBy, blockJob, missingBlockers, siblingName, siblingsOf } from './job/block.ts'
import { forget, forgetContinued } from './job/finish.ts'
import { isFree, isReplaced } from './job/id.ts'
import { effectOn, isInForce, isRemembered, lastsMs, replacePayload, restartWindow } from './job/key.ts'
import { type Blocker, find, isExpiredPart, type Job, type Mark, type Move, refOf } from './move.ts'
import { isRefusable, Refusals } from './job/refuse.ts'
import { standingOf, standingOfMark } from './job/standing.ts'
import { isWaiting } from './job/states.ts'
import { dueAt, emitWaiting, joinGroup, wait } from './job/wait.ts'

export function add(move: Move, jobs: readonly NewJob[]): AddVerdict[] {
  // Distinguishes an id that this call names twice from the repeat of an earlier call.
  const before = move.lastNumber
  // oxlint-disable-next-line unicorn/no-new-array -- its length is known: a growing array is copied each time
  const verdicts = new Array<AddVerdict>(jobs.length)
  const added = jobs.every(isPlain) ? addPlain(move, jobs, verdicts) : 0
  if (added === jobs.length) return verdicts
  const left = added === 0 ? jobs : jobs.slice(added)
  const decider = new Decider(move, left, missingBlockers(move, left), before)
  return [...verdicts.slice(0, added), ...decideAll(decider, left, undefined)]
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

/** The answer to the repeat of an add whose job is gone. */
const repeatOfGone = ({ type, id, token }: NewJob): AddVerdict => ({
  verdict: 'added',
  job: { type, id, token, state: 'completed' },
})

/** A continuation has the key of its chain: its own is ignored. */
function withoutKey(job: NewJob): NewJob {
  const { deduplication, ...fields } = job
  return deduplication ? fields : job
}

/** Decides about the jobs of one call, where an id is taken, or a job has a key, a group or blockers. */
class Decider {
  readonly verdicts: AddVerdict[] = []
  readonly #move: Move
  readonly #jobs: readonly NewJob[]
  /** The missing blockers, by the token of the jobs that they refuse. */
  readonly #missing: Map<string, JobRef> | undefined
  readonly #refusals: Refusals | undefined
  /** By the position of a blocker: the positions of the jobs that it blocks. */
  readonly #blocks: Map<number, number[]> | undefined
  #siblings: ReadonlyMap<string, number> | undefined
  readonly #created: (Job | undefined)[] = []
  #marksTaken: Set<Mark> | undefined
  #repeated: Set<Job> | undefined
  /** Jobs whose payload this call replaced. */
  #replaced: Set<Job> | undefined
  readonly #before: number

  /** @param before the last number taken before this call: a job with a higher one was added by this call */
  constructor(move: Move, jobs: readonly NewJob[], missing: Map<string, JobRef> | undefined, before: number) {
    this.#before = before
    this.#move = move
    this.#jobs = jobs
    this.#missing = missing
    this.#refusals = jobs.some(isRefusable) ? new Refusals(move, jobs) : undefined
    this.#blocks = blockedBy(jobs)
  }

  decide(index: number, predecessor: Job | undefined): void {
    const job = this.#jobs[index]!
    const missing = this.#missing?.get(job.token)
    if (missing) {
      this.verdicts.push({ verdict: 'blocker_not_found', blocker: missing })
      return
    }
    const refused = this.#refusals?.ofToken(job)
    if (refused) {
      this.verdicts.push(refused)
      return
    }
    const origin = this.#originOf(index)
    const verdict =
      origin === 'none'
        ? { verdict: 'skipped' as const }
        : (this.#existing(job, origin === 'repeated', predecessor) ??
          // The settle has decided about a continuation already.
          (predecessor ? undefined : this.#refusals?.ofOne(job)))
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
    const replaced = existing && !isFree(this.#move, existing) ? existing : undefined
    if (replaced && !isReplaced(job, replaced)) {
      return { verdict: 'duplicate', by: 'id', job: standingOf(this.#move, replaced) }
    }
    // A continuation shares the key of its chain.
    const { deduplication } = predecessor ? {} : job
    if (deduplication?.mode === 'ascending') {
      const last = this.#markOf(job.type, deduplication.key)
      if (last && isRemembered(this.#move, last) && last.version! >= deduplication.version) {
        const isRepeat = last.token === job.token && last.id === job.id
        return isRepeat ? repeatOfGone(job) : { verdict: 'stale', version: last.version! }
      }
      if (last?.mode === 'ascending') return repeated ? repeatOfGone(job) : undefined
    }
    const mark = deduplication && this.#markInForce(job.type, deduplication.key)
    const isOwn = mark?.token === job.token && (mark.shared || mark.id === job.id)
    const isFreed = mark !== undefined && !mark.shared && mark.id === replaced?.id && mark.token === replaced.token
    if (mark && !isOwn && !isFreed) return this.#heldKey(job, mark)
    return repeated || (mark && !isFreed && !this.#marksTaken?.has(mark)) ? repeatOfGone(job) : undefined
  }

  /** The verdict of a job whose key another holds. Undefined if it is to be created all the same. */
  #heldKey(job: NewJob, mark: Mark): AddVerdict | undefined {
    const move = this.#move
    const deduplication = job.deduplication!
    const holder = mark.job
    // An earlier add of this call may have replaced the payload under the same token: then this is no repeat.
    const isRepeat = mark.replacedBy === job.token && mark.mode === deduplication.mode && !this.#replaced?.has(holder!)
    const effect = isRepeat || !holder ? 'refuse' : effectOn(holder, deduplication.mode, mark)
    if (effect === 'add' || effect === 'after') return undefined
    if (effect === 'refuse' && !isRepeat) {
      return { verdict: 'duplicate', by: 'key', job: this.#holderOf(job.type, mark) }
    }
    if (effect === 'replace') {
      replacePayload(move, holder!, mark, job.payload, job.token)
      if (deduplication.mode === 'debounce') restartWindow(move, holder!, deduplication)
      ;(this.#replaced ??= new Set()).add(holder!)
    }
    return { verdict: 'replaced', job: standingOf(move, holder!) }
  }

  /** Answers a repeat as the first call. An id that one call names twice is a duplicate of its first mention. */
  #repeatOf(job: Job): AddVerdict {
    if (this.#repeated?.has(job) || job.accepted > this.#before) {
      return { verdict: 'duplicate', by: 'id', job: standingOf(this.#move, job) }
    }
    ;(this.#repeated ??= new Set()).add(job)
    return { verdict: 'added', job: standingOf(this.#move, job) }
  }

  #markOf(name: string, key: string): Mark | undefined {
    const type = this.#move.typeOf(name)
    return type && this.#move.markOf(type, key)
  }

  #markInForce(name: string, key: string): Mark | undefined {
    const mark = this.#markOf(name, key)
    return mark && isInForce(this.#move, mark) ? mark : undefined
  }

  #holderOf(name: string, mark: Mark): Standing {
    return standingOfMark(this.#move, this.#move.typeOf(name)!, mark)
  }

  #create(index: number, predecessor: Job | undefined, origin: Job | undefined): void {
    const move = this.#move
    const fields = predecessor ? withoutKey(this.#jobs[index]!) : this.#followed(this.#jobs[index]!)
    const replaced = move.stored(fields)
    const isChain = replaced !== undefined && replaced === replaced.chain
    const isLive = replaced !== undefined && isWaiting(replaced.state)
    if (replaced && isExpiredPart(move, replaced)) forgetContinued(move, replaced)
    else if (replaced) forget(move, replaced.chain)
    const job = move.create(fields, dueAt(move, fields), predecessor, origin)
    joinGroup(move, job)
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
    this.verdicts.push({ verdict: isLive ? 'replaced' : 'added', job: standingOf(this.#move, job) })
  }

  /** A job that runs after the holder of its key is blocked by it, whatever that ends in. */
  #followed(fields: NewJob): NewJob {
    if (fields.deduplication?.mode !== 'followUp') return fields
    const mark = this.#markInForce(fields.type, fields.deduplication.key)
    const holder = mark && !(mark.token === fields.token && mark.id === fields.id) ? mark.job : undefined
    if (!holder || effectOn(holder, 'followUp', mark!) !== 'after') return fields
    return { ...fields, blockers: [refOf(holder.chain)], onBlockerFailure: 'run' }
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

  #takeKey(job: Job, deduplication: Deduplication): void {
    const { key, mode } = deduplication
    const shared = 'shared' in deduplication && deduplication.shared === true
    const held = this.#move.markOf(job.type, key)
    if (shared && held && this.#marksTaken?.has(held)) {
      job.mark = held
      return
    }
    const { id, token } = job
    const until = this.#move.now + (lastsMs(deduplication) ?? Infinity)
    const version = mode === 'ascending' ? deduplication.version : undefined
    const mark = this.#move.holdKey(job, { key, id, token, mode, shared, until, replacedBy: undefined, version })
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
      if (job?.blockers) this.verdicts[index] = { verdict: this.#addedVerdict(index), job: standingOf(this.#move, job) }
    })
  }

  #addedVerdict(index: number): 'added' | 'replaced' {
    return this.verdicts[index]!.verdict === 'replaced' ? 'replaced' : 'added'
  }

  /** Replaces blockers of this batch that were not added, because a job has their id or key, by the existing chains. */
  #resolveDuplicates(job: Job, index: number): void {
    if (this.#jobs.length === 1) return
    const { blockers, token } = this.#jobs[index]!
    // A job that runs after another has no blockers of its own.
    if (!blockers) return
    job.blockers!.length = 0
    const refs = blockers.flatMap((blocker): Blocker[] => {
      const position = this.#positionOf(blocker, token)
      const verdict = position === undefined ? undefined : this.verdicts[position]
      if (verdict?.verdict === 'stale') return []
      if (verdict?.verdict !== 'duplicate' && verdict?.verdict !== 'replaced') return [this.#refOfBlocker(blocker)]
      const chain = find(this.#move, verdict.job)?.chain
      const { type, id } = chain ? refOf(chain) : verdict.job
      return [{ ref: { type, id }, done: false }]
    })
    job.blockers!.push(...refs)
  }
}
