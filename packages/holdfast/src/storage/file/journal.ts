// The journal: runs every call of this process, in groups, one group after the other. A group catches up with the log, runs
// its calls on the replica and is appended to the log as one commit. While that commit is synced, the next group gathers.
//
// Invariant: between two groups the replica is exactly what the commits before the log's position say. A group whose number
// was taken by another process, or whose commit fails, is undone, so no caller sees what is not in the log.

import type { Clock } from '../../clock.ts'
import type { KvData } from '../memory/kv-data.ts'
import { MemoryMove } from '../memory/move.ts'
import { Signals } from '../rules/signals.ts'
import type { JobRef } from '../storage.ts'
import { encodeFrame, format } from './log/frame.ts'
import { linesOf } from './log/lines.ts'
import { type Log, UnsyncedError } from './log/log.ts'
import { isFull } from './log/reserve.ts'
import type { Follower } from './replica/follower.ts'
import { Recording } from './replica/recording.ts'
import type { Replica } from './replica/replica.ts'

/** What a call works with, at one instant. */
export interface Turn {
  readonly now: number
  readonly move: MemoryMove
  readonly kv: KvData
  readonly recording: Recording
}

export interface CallOptions {
  /** The call writes nothing: what it read need not be durable. */
  readonly reads?: boolean
  /** The call has a group of its own. */
  readonly alone?: boolean
  /** The call takes room on the disk for long: it is refused while the disk is full. */
  readonly takesRoom?: boolean
}

interface Call extends CallOptions {
  readonly run: (turn: Turn) => unknown
  readonly resolve: (answer: never) => void
  readonly reject: (error: unknown) => void
  /** Of its last run. */
  outcome: { answer: unknown; signals: Signals; recording: Recording } | { error: unknown } | undefined
}

export interface JournalHooks {
  /** A commit of this process is in the log. */
  committed(recording: Recording): void
  /** Upkeep between two groups. */
  between(): Promise<void> | undefined
  /** Throws while the disk has no room for calls that take it. */
  needRoom(): void
  /** Frees room on a full disk. False if there is nothing to free. */
  makeRoom(): Promise<boolean>
}

/** Lost races after which a group waits a moment before it tries again. */
const racesBeforeWait = 2

export class Journal {
  readonly #follower: Follower
  readonly #clock: Clock
  readonly #hooks: JournalHooks
  #waiting: Call[] = []
  #working: Promise<void> | undefined
  /** Recording of the group that is being appended: the replica is ahead of the log by it. */
  #underWay: Recording | undefined

  constructor(follower: Follower, clock: Clock, hooks: JournalHooks) {
    this.#follower = follower
    this.#clock = clock
    this.#hooks = hooks
  }

  get replica(): Replica {
    return this.#follower.replica
  }

  get #log(): Log {
    return this.#follower.log
  }

  call<T>(run: (turn: Turn) => T, options: CallOptions = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ ...options, run, resolve, reject, outcome: undefined })
      this.#working ??= this.#work()
    })
  }

  /** Catches up with the commits of other processes, so that listeners are notified. */
  async look(): Promise<void> {
    await this.call(() => {}, { reads: true })
  }

  /** True while a change of this job is not yet in the log, and may still be undone. */
  isUnderWay({ type, id }: JobRef): boolean {
    if (!this.#underWay) return false
    const before = this.#underWay.jobs.get(type)?.get(id)
    return this.#underWay.cleared || before === null || before?.changed === true
  }

  /** Resolves once no call waits. */
  async idle(): Promise<void> {
    while (this.#working) await this.#working
  }

  async #work(): Promise<void> {
    // The calls of one tick share a group.
    await Promise.resolve()
    try {
      while (this.#waiting.length > 0) {
        await this.#group(this.#take())
        await this.#hooks.between()
      }
    } finally {
      this.#working = undefined
    }
  }

  #take(): Call[] {
    const first = this.#waiting.findIndex(({ alone }) => alone)
    const count = first === -1 ? this.#waiting.length : Math.max(1, first)
    return this.#waiting.splice(0, count)
  }

  async #group(calls: readonly Call[]): Promise<void> {
    try {
      if (calls.some(({ takesRoom }) => takesRoom)) this.#hooks.needRoom()
      for (let lost = 0; !(await this.#attempt(calls)); lost++) {
        if (lost >= racesBeforeWait) await this.#wait(Math.min(lost, 10) * this.#clock.random())
      }
    } catch (error) {
      if (calls.length === 1) {
        const [call] = calls
        if (isFull(error) && !call!.takesRoom && (await this.#hooks.makeRoom())) return this.#group(calls)
        return call!.reject(error)
      }
      // One of them may be the cause, so each runs by itself.
      for (const call of calls) await this.#group([call])
    }
  }

  /** False if another commit took the number. Rejects if certainly nothing was written. */
  async #attempt(calls: readonly Call[]): Promise<boolean> {
    await this.#follower.catchUp()
    const recording = new Recording(this.replica)
    for (const call of calls) this.#run(call, recording)
    const lines = linesOf(recording, this.replica)
    if (lines.length === 0) {
      if (this.#log.unsynced && !calls.every(({ reads }) => reads)) await this.#log.syncFolder()
      // A job that was added and removed again took a number. Other processes do not know of it.
      this.replica.data.lastNumber = recording.lastNumber
      this.#prune(recording)
      answer(calls)
      return true
    }
    for (const { outcome } of calls) {
      if (outcome && 'signals' in outcome) for (const hint of outcome.signals.hintsForOthers()) lines.push({ hint })
    }
    const failed = await this.#commit(recording, lines)
    if (failed === 'lost') return false
    answer(calls, failed)
    return true
  }

  #run(call: Call, group: Recording): void {
    const { replica } = this
    const recording = new Recording(replica)
    const signals = new Signals(true)
    const now = this.#clock.now()
    replica.onEntry = (key) => recording.entry(key)
    try {
      const move = new MemoryMove(replica.data, now, signals, recording)
      const result = call.run({ now, move, kv: replica.kv, recording })
      call.outcome = { answer: result, signals, recording }
      group.include(recording)
    } catch (error) {
      call.outcome = { error }
      this.#follower.undo(recording)
    } finally {
      replica.onEntry = undefined
    }
  }

  /** Undefined: the commit is in the log. An error: it is, but may not survive a power cut. */
  async #commit(recording: Recording, lines: readonly object[]): Promise<UnsyncedError | 'lost' | undefined> {
    const log = this.#log
    const durability = log.full ? 'full' : 'relaxed'
    const last = this.replica.data.lastNumber
    const head = { holdfast: 'commit', format, number: log.position.next, last, durability } as const
    let size = 0
    let failed: UnsyncedError | undefined
    this.#underWay = recording
    try {
      const bytes = encodeFrame(
        head,
        lines.map((line) => JSON.stringify(line)),
      )
      size = bytes.length
      const appended = await log.append(bytes)
      if (appended !== 'won') {
        this.#follower.undo(recording)
        if (appended === 'gone') this.#follower.invalidate()
        return 'lost'
      }
    } catch (error) {
      if (!(error instanceof UnsyncedError)) {
        this.#follower.undo(recording)
        throw error
      }
      failed = error
    } finally {
      this.#underWay = undefined
    }
    this.#follower.passOwn(size)
    this.#prune(recording)
    this.#hooks.committed(recording)
    return failed
  }

  /** Forgets types of which nothing is left. */
  #prune(recording: Recording): void {
    for (const name of recording.types) {
      const type = this.replica.data.types.get(name)
      if (type) this.replica.prune(type)
    }
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(ms, resolve))
  }
}

/** @param failed set if what the calls wrote may not survive a power cut */
function answer(calls: readonly Call[], failed?: UnsyncedError): void {
  for (const { outcome, resolve, reject } of calls) {
    if (!outcome || 'error' in outcome) reject(outcome?.error)
    else {
      outcome.signals.send()
      if (failed && outcome.recording.hasChanges) reject(Object.assign(failed.cause as Error, { maybeApplied: true }))
      else resolve(outcome.answer as never)
    }
  }
}
