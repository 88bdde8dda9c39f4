// The journal: every call of this process goes through it, one group after the other. A group catches up with the log, runs
// its calls on the replica, and goes into the log as one commit; while that is being synced, the next group gathers.
//
// Invariant: between two groups the replica is exactly what the commits before the log's position say. A group that does not
// get its number, or whose commit fails, is taken back, so nobody sees what is not in the log.
//
// Longer than others: each step of a group, and its way back, keeps that invariant.

import type { Clock } from '../../clock.ts'
import type { KvData } from '../memory/kv-data.ts'
import { MemoryMove } from '../memory/move.ts'
import type { JobRef } from '../storage.ts'
import { applyChanges } from './replica/apply.ts'
import type { Changes } from './replica/changes.ts'
import { encodeFrame, format } from './log/frame.ts'
import { CallSignals, type Listeners } from './hints.ts'
import { linesOf, readLines } from './log/lines.ts'
import { type Log, UnsyncedError } from './log/log.ts'
import { Recording } from './replica/recording.ts'
import { Replica } from './replica/replica.ts'
import { isFull } from './log/reserve.ts'
import { latestSnapshot } from './log/snapshot.ts'

/** What a call is given to work with, at one instant. */
export interface Turn {
  readonly now: number
  readonly move: MemoryMove
  readonly kv: KvData
  readonly recording: Recording
}

export interface CallOptions {
  /** It only looks: what it saw need not be durable. */
  readonly reads?: boolean
  /** In a group of its own. */
  readonly alone?: boolean
  /** What it writes stays: refused while the disk is full. */
  readonly takesRoom?: boolean
}

interface Call extends CallOptions {
  readonly run: (turn: Turn) => unknown
  readonly resolve: (answer: never) => void
  readonly reject: (error: unknown) => void
  /** Of its last run. */
  outcome: { answer: unknown; signals: CallSignals; recording: Recording } | { error: unknown } | undefined
}

export interface JournalHooks {
  /** By this process. */
  committed(recording: Recording): void
  /** By another one. */
  followed(changes: Changes): void
  /** What has to be done between two groups. */
  between(): Promise<void> | undefined
  /** Throws while there is none for calls that take it. */
  needRoom(): void
  /** The disk is full. False: nothing can be done about it. */
  makeRoom(): Promise<boolean>
}

/** Races that a group loses before it lets others go first for a moment. */
const patience = 2

export class Journal {
  replica = new Replica()
  /** Bytes on disk of commits since the snapshot from which a start would read. */
  logBytes = 0
  snapshotBytes = 0
  readonly log: Log
  readonly #clock: Clock
  readonly #listeners: Listeners
  readonly #hooks: JournalHooks
  #waiting: Call[] = []
  #working: Promise<void> | undefined
  /** The replica is not to be trusted any more. */
  #stale = true
  /** Of the group that is on its way into the log: the replica is ahead of it. */
  #underWay: Recording | undefined

  constructor(log: Log, clock: Clock, listeners: Listeners, hooks: JournalHooks) {
    this.log = log
    this.#clock = clock
    this.#listeners = listeners
    this.#hooks = hooks
  }

  call<T>(run: (turn: Turn) => T, options: CallOptions = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ ...options, run, resolve, reject, outcome: undefined })
      this.#working ??= this.#work()
    })
  }

  /** Looks for commits of others, for the sake of those who listen. */
  async look(): Promise<void> {
    await this.call(() => {}, { reads: true })
  }

  /** What is known of this job is not in the log yet, and perhaps never will be. */
  isUnderWay({ type, id }: JobRef): boolean {
    if (!this.#underWay) return false
    const before = this.#underWay.jobs.get(type)?.get(id)
    return this.#underWay.cleared || before === null || before?.changed === true
  }

  /** Once nothing waits. */
  async idle(): Promise<void> {
    while (this.#working) await this.#working
  }

  async #work(): Promise<void> {
    // The calls of one tick go together.
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
        if (lost >= patience) await this.#pause(Math.min(lost, 10) * this.#clock.random())
      }
    } catch (error) {
      if (calls.length === 1) {
        const [call] = calls
        if (isFull(error) && !call!.takesRoom && (await this.#hooks.makeRoom())) return this.#group(calls)
        return call!.reject(error)
      }
      // One of them may be what went wrong: each by itself.
      for (const call of calls) await this.#group([call])
    }
  }

  /** False: another commit came first. Rejects if certainly nothing was written. */
  async #attempt(calls: readonly Call[]): Promise<boolean> {
    await this.#catchUp()
    const recording = new Recording(this.replica)
    for (const call of calls) this.#run(call, recording)
    const lines = linesOf(recording, this.replica)
    if (lines.length === 0) {
      if (this.log.unsynced && !calls.every(({ reads }) => reads)) await this.log.syncFolder()
      answer(calls)
      return true
    }
    for (const { outcome } of calls) {
      if (outcome && 'signals' in outcome) for (const hint of outcome.signals.hints()) lines.push({ hint })
    }
    const failed = await this.#commit(recording, lines)
    if (failed === 'lost') return false
    answer(calls, failed)
    return true
  }

  #run(call: Call, group: Recording): void {
    const recording = new Recording(this.replica)
    const signals = new CallSignals(this.#listeners)
    const now = this.#clock.now()
    this.replica.onEntry = (key) => recording.entry(key)
    try {
      const move = new MemoryMove(this.replica.data, now, signals, recording)
      const result = call.run({ now, move, kv: this.replica.kv, recording })
      call.outcome = { answer: result, signals, recording }
      group.include(recording)
    } catch (error) {
      call.outcome = { error }
      this.#undo(recording)
    } finally {
      this.replica.onEntry = undefined
    }
  }

  /** Undefined: it is in the log. An error: it is, but perhaps not for ever. */
  async #commit(recording: Recording, lines: readonly object[]): Promise<UnsyncedError | 'lost' | undefined> {
    const { log } = this
    const { folder, next } = log.position
    const durability = log.full ? 'full' : 'relaxed'
    const last = this.replica.data.lastNumber
    const head = { holdfast: 'commit', format, number: next, last, durability } as const
    let failed: UnsyncedError | undefined
    this.#underWay = recording
    try {
      const bytes = encodeFrame(
        head,
        lines.map((line) => JSON.stringify(line)),
      )
      const appended = await log.append(bytes)
      if (appended !== 'won') {
        this.#undo(recording)
        if (appended === 'gone') this.#stale = true
        return 'lost'
      }
      this.logBytes += sizeOnDisk(bytes.length)
    } catch (error) {
      if (!(error instanceof UnsyncedError)) {
        this.#undo(recording)
        throw error
      }
      failed = error
    } finally {
      this.#underWay = undefined
    }
    log.goTo({ folder, next: next + 1 })
    this.#prune(recording)
    this.#hooks.committed(recording)
    return failed
  }

  /** Types that nothing is known of any more. */
  #prune(recording: Recording): void {
    const { data } = this.replica
    const names = new Set([...recording.jobs.keys(), ...[...recording.keys.keys()].map(({ name }) => name)])
    for (const { type } of recording.pauses.values()) names.add(type)
    for (const name of names) {
      const type = data.types.get(name)
      if (type) data.prune(type)
    }
  }

  #undo(recording: Recording): void {
    try {
      applyChanges(this.replica, recording.undo(), this.#clock.now())
    } catch {
      this.#stale = true // It is read anew.
    }
  }

  async #catchUp(): Promise<void> {
    for (let tries = 0; ; tries++) {
      if (this.#stale) this.#load()
      if (this.#follow()) return
      if (tries === 10) throw new Error(`the log's folder ${this.log.position.folder} is missing`)
      this.#stale = true
      await this.#pause(1)
    }
  }

  /** Starts anew from the latest snapshot. */
  #load(): void {
    this.replica = new Replica()
    const { log } = this
    const snapshot = latestSnapshot(log.disk, log.paths)
    this.snapshotBytes = snapshot?.size ?? 0
    this.logBytes = 0
    if (snapshot) {
      const { changes } = readLines(snapshot.lines, this.replica, snapshot.head.last)
      applyChanges(this.replica, changes, this.#clock.now())
      log.goTo({ folder: snapshot.head.log!, next: snapshot.head.number + 1 })
    } else {
      const { log: folder } = JSON.parse(log.disk.read(log.paths.format)!.toString()) as { log: string }
      log.goTo({ folder, next: 1 })
    }
    this.#stale = false
  }

  /** Applies what others have committed. False: what comes next is gone, a snapshot has it. */
  #follow(): boolean {
    const { log } = this
    for (;;) {
      const frame = log.next()
      if (frame === undefined) return true
      if (frame === 'gone') return false
      try {
        const read = readLines(frame.lines, this.replica, frame.head.last)
        applyChanges(this.replica, read.changes, this.#clock.now())
        const { folder, next } = log.position
        log.goTo({ folder: read.continue ?? folder, next: next + 1 })
        log.unsynced = true
        this.logBytes += sizeOnDisk(frame.size)
        this.#hooks.followed(read.changes)
        for (const hint of read.hints) this.#listeners.tell(hint)
      } catch (error) {
        this.#stale = true
        throw error
      }
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(ms, resolve))
  }
}

/** A small file takes a whole block. */
const sizeOnDisk = (bytes: number): number => Math.ceil(bytes / 4_096) * 4_096

/** @param failed what they wrote may not last */
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
