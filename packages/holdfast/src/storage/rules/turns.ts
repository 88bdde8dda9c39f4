// The turns and limits of one type in a claim. Its groups take turns with each other and with its line (flow.ts), as long as the
// concurrency and the rate of the type allow a start.

import type { ClaimType, Rate } from '../storage.ts'
import { emptyFlow, type Flow, type Group, groupLimitsOf, isTurnBefore } from './flow.ts'
import { freesAt, type RateUse, withStart } from './job/rate.ts'
import { isWaiting } from './job/states.ts'
import { refreshGroup, startsAt } from './job/wait.ts'
import type { Job, JobType, Move } from './move.ts'

/** A group that has a turn, with its best job. */
interface Candidate {
  readonly group: Group
  readonly job: Job
}

export class Turns {
  readonly #move: Move
  readonly #type: JobType
  readonly #wanted: ClaimType
  readonly #rate: Rate | undefined
  readonly #flow: Flow
  /** Starts that the concurrency still allows. */
  #room: number
  /** Nothing of this type is started any more by this call. */
  #isStopped: boolean
  #use: RateUse | undefined
  #nextWeight: number
  /** Groups whose due jobs other calls have locked: they are passed over once. */
  #passed: Set<Group> | undefined
  /** Without turns: the best jobs of the groups, the best one last. */
  #candidates: Candidate[] | undefined
  /** The line was chosen although a group could have been: it has taken its turn. */
  #isLinesTurn = false

  constructor(move: Move, type: JobType, wanted: ClaimType) {
    const { concurrency = Infinity, rate } = wanted.limits ?? {}
    this.#move = move
    this.#type = type
    this.#wanted = wanted
    this.#rate = rate
    this.#flow = move.flowOf(type) ?? emptyFlow
    this.#use = this.#flow.rate
    this.#nextWeight = this.#flow.nextWeight
    this.#room = concurrency === Infinity ? Infinity : concurrency - move.runningOf(type)
    this.#isStopped =
      this.#room <= 0 || this.#flow.slowedUntil > move.now || (rate !== undefined && !this.#isFree(this.#nextWeight))
  }

  /** The job whose turn it is. It stays the same until it is started, ended or not admitted. */
  next(): Job | undefined {
    if (this.#isStopped || this.#room <= 0) return undefined
    const line = this.#move.nextReady(this.#type)
    this.#isLinesTurn = false
    if (this.#wanted.limits?.group?.fair === false) return this.#bestOfAll(line)
    for (let group = this.#nextGroup(); group; group = this.#nextGroup()) {
      if (line && isTurnBefore(this.#turnOfLine(), group)) {
        this.#isLinesTurn = true
        return line
      }
      const job = this.#bestOf(group)
      if (job) return job
    }
    return line
  }

  /** False if a rate has no room for the job. If it is that of the type, nothing overtakes the job. */
  admits(job: Job): boolean {
    const { group, weight } = job
    const { now } = this.#move
    const rate = group && groupLimitsOf(this.#wanted.limits, group.key).rate
    const freeAt = rate ? freesAt(group.rate, rate, weight, now) : now
    if (freeAt > now) {
      // The group waits for this instant, whatever happens to the job.
      this.#move.changeGroup(group!, { rateFreeAt: freeAt })
      refreshGroup(this.#move, group!)
      return false
    }
    if (this.#rate && !this.#isFree(weight)) {
      this.#nextWeight = weight
      this.#isStopped = true
      return false
    }
    return true
  }

  /** The job of the last next() is in processing now. */
  started(job: Job): void {
    this.#room--
    if (this.#rate) {
      this.#use = withStart(this.#use, this.#rate, job.weight, this.#move.now)
      this.#nextWeight = 1
    }
    if (job.group) this.#startIn(job.group, job)
    else if (this.#isLinesTurn)
      this.#move.changeFlow(this.#type, { turnAt: this.#move.now, turn: this.#move.takeNumber() })
  }

  /** Writes what the claim took of the type's limits. */
  end(): void {
    const { isFull, rate, nextWeight } = this.#flow
    const isFullNow = this.#wanted.limits?.concurrency === undefined ? isFull : this.#room <= 0
    if (isFullNow !== isFull) this.#move.changeFlow(this.#type, { isFull: isFullNow })
    // The outcomes of this call have freed what its jobs have taken: other workers would look in vain.
    if (isFullNow) this.#move.unwake(this.#type)
    if (this.#use !== rate || this.#nextWeight !== nextWeight) {
      this.#move.changeFlow(this.#type, { rate: this.#use, nextWeight: this.#nextWeight })
    }
  }

  #isFree(weight: number): boolean {
    return freesAt(this.#use, this.#rate!, weight, this.#move.now) <= this.#move.now
  }

  #turnOfLine(): Flow {
    return this.#move.flowOf(this.#type) ?? emptyFlow
  }

  /** The first group of the ring that is below its limit. Others leave the ring. */
  #nextGroup(): Group | undefined {
    for (;;) {
      const group = this.#move.nextTurn(this.#type)
      if (!group || this.#passed?.has(group)) return undefined
      if (!this.#leaveIfFull(group)) return group
    }
  }

  #leaveIfFull(group: Group): boolean {
    const { limit = Infinity } = groupLimitsOf(this.#wanted.limits, group.key)
    if (group.running < limit) return false
    this.#move.changeGroup(group, { turnAt: undefined, isFull: true })
    return true
  }

  /** Undefined if other calls have locked its due jobs: then the group goes to the back. */
  #bestOf(group: Group): Job | undefined {
    const move = this.#move
    const job = this.#dueJobOf(group)
    if (job) return job
    ;(this.#passed ??= new Set()).add(group)
    move.changeGroup(group, { turnAt: move.now, turn: move.takeNumber() })
    return undefined
  }

  #dueJobOf(group: Group): Job | undefined {
    const { now } = this.#move
    if (!group.ordered) return this.#move.bestOf(group)
    const head = this.#move.headOf(group)
    return head && isWaiting(head.state) && head.runAt <= now ? head : undefined
  }

  #startIn(group: Group, { weight }: Job): void {
    const move = this.#move
    const { limit = Infinity, rate } = groupLimitsOf(this.#wanted.limits, group.key)
    const running = group.running + 1
    move.changeGroup(group, { running, isFull: !group.ordered && running >= limit })
    if (rate) {
      const use = withStart(group.rate, rate, weight, move.now)
      move.changeGroup(group, { rate: use, rateFreeAt: freesAt(use, rate, 1, move.now) })
    }
    const at = startsAt(move, group)
    move.changeGroup(group, at === undefined ? { turnAt: undefined } : { turnAt: at, turn: move.takeNumber() })
  }

  // ── without turns ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** The best job of the line and all groups. Each group is looked at once per call, and again after each job of its own. */
  #bestOfAll(line: Job | undefined): Job | undefined {
    if (!this.#candidates) {
      this.#candidates = []
      for (const group of this.#move.turnsOf(this.#type)) this.#compete(group)
    }
    for (let best = this.#candidates.pop(); best; best = this.#candidates.pop()) {
      // Its job may have been started or ended by now, or its group may wait.
      if (!this.#isCurrent(best)) {
        this.#compete(best.group)
        continue
      }
      this.#candidates.push(best)
      return line && isBefore(line, best.job) ? line : best.job
    }
    return line
  }

  #isCurrent({ group, job }: Candidate): boolean {
    return this.#hasTurn(group) && this.#dueJobOf(group) === job
  }

  #hasTurn({ turnAt = Infinity }: Group): boolean {
    return turnAt <= this.#move.now
  }

  /** Adds the best job of a group to the candidates. */
  #compete(group: Group): void {
    if (!this.#hasTurn(group) || this.#passed?.has(group) || this.#leaveIfFull(group)) return
    const job = this.#bestOf(group)
    if (!job) return
    const candidates = this.#candidates!
    let [low, high] = [0, candidates.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (isBefore(candidates[middle]!.job, job)) high = middle
      else low = middle + 1
    }
    candidates.splice(low, 0, { group, job })
  }
}

function isBefore(a: Job, b: Job): boolean {
  if (a.priority !== b.priority) return a.priority > b.priority
  return a.runAt === b.runAt ? a.order < b.order : a.runAt < b.runAt
}
