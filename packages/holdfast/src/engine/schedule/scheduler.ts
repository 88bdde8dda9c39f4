// Fires the schedules of one owner: at each slot it adds the job. Every process does, without a leader: the storage accepts one job
// per slot (slot-job.ts), whatever process is first, dies or is late.

import type { Clock, Timer } from '../../clock.ts'
import type { JobRef, Unlisten } from '../../storage/storage.ts'
import { callsUntil } from '../calls-until.ts'
import type { PublishEvent } from '../events.ts'
import type { GuardedStorage } from '../guard.ts'
import type { Instants } from './cron.ts'
import { instantsOf } from './rule.ts'
import { type NewSchedule, ScheduleStore, scheduleTopic } from './schedule-store.ts'
import { slotId, slotJob, slotKey } from './slot-job.ts'
import { dueSlots } from './slots.ts'
import { StorageTime } from './storage-time.ts'
import { isSameSchedule, type Mark, type StoredSchedule } from './stored-schedule.ts'

export interface SchedulerOptions {
  readonly storage: GuardedStorage
  readonly clock: Clock
  readonly owner: string
  /** Fires only schedules whose jobs this process runs. */
  isServed(type: string): boolean
  /** What code declares. Undefined: nothing is reconciled. */
  readonly declared: readonly NewSchedule[] | undefined
  readonly release: number
  /** Looks at the stored schedules now and then, too: a hint may be lost. */
  readonly polls: boolean
  readonly publishEvent: PublishEvent
}

interface Entry {
  readonly schedule: StoredSchedule
  readonly instants: Instants
  /** The last slot that was fired or passed. */
  from: number
  timer: Timer | undefined
}

/** Pause after a failure, and between two looks at the stored schedules, in ms. */
const [retryMs, reloadMs] = [1_000, 60_000]

export class Scheduler {
  readonly #options: SchedulerOptions
  /** Calls nothing after stop(), which a caller may not await to its end. */
  readonly #storage: GuardedStorage
  readonly #time: StorageTime
  readonly #store: ScheduleStore
  readonly #entries = new Map<string, Entry>()
  /** Calls under way: stop() waits for them. */
  readonly #working = new Set<Promise<void>>()
  #unlisten: Unlisten | undefined
  #reloadTimer: Timer | undefined
  #isLoading = false
  /** A change came during a load, which may have read before it. */
  #isStale = false
  #stopped = false

  constructor(options: SchedulerOptions) {
    const { clock, owner } = options
    const storage = callsUntil(options.storage, () => this.#stopped)
    this.#options = options
    this.#storage = storage
    this.#time = new StorageTime(storage, clock)
    this.#store = new ScheduleStore(storage, owner, this.#time)
  }

  /** Reconciles the declared schedules, and begins to fire. To be called once. */
  async start(): Promise<void> {
    const { owner, declared, release, isServed } = this.#options
    for (const schedule of declared ?? []) await instantsOf(schedule)
    if (declared) await this.#store.reconcile(declared, release, isServed)
    const unlisten = await this.#storage.listen([{ kind: 'wake', type: scheduleTopic(owner) }], () => this.#reload())
    if (this.#stopped) return unlisten()
    this.#unlisten = unlisten
    await this.#load()
  }

  /** Fires nothing from now on, and waits for the calls under way. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#reloadTimer?.cancel()
    for (const name of this.#entries.keys()) this.#drop(name)
    await this.#unlisten?.()
    this.#unlisten = undefined
    await Promise.all(this.#working)
  }

  // ── what there is to fire ──────────────────────────────────────────────────────────────────────────────────────────

  #reload(): void {
    if (!this.#stopped) this.#work(() => this.#load()).catch(() => this.#reloadAfter(retryMs))
  }

  #reloadAfter(ms: number): void {
    this.#reloadTimer?.cancel()
    if (this.#stopped) return
    this.#reloadTimer = this.#options.clock.after(ms, () => this.#reload(), { keepsAlive: false })
  }

  /** One at a time. A change during one is seen by another right after it. */
  async #load(): Promise<void> {
    this.#isStale = true
    if (this.#isLoading) return
    this.#isLoading = true
    try {
      while (this.#isStale && !this.#stopped) {
        this.#isStale = false
        await this.#loadOnce()
      }
    } finally {
      this.#isLoading = false
    }
    if (this.#options.polls) this.#reloadAfter(reloadMs)
  }

  async #loadOnce(): Promise<void> {
    const stored = (await this.#store.list()).filter(({ job }) => this.#options.isServed(job.type))
    const marks = stored.length > 0 ? await this.#store.marks() : new Map<string, Mark>()
    const names = new Set(stored.map(({ name }) => name))
    for (const name of this.#entries.keys()) if (!names.has(name)) this.#drop(name)
    for (const schedule of stored) await this.#apply(schedule, marks.get(schedule.name))
  }

  async #apply(schedule: StoredSchedule, mark: Mark | undefined): Promise<void> {
    const known = this.#entries.get(schedule.name)
    if (known && !schedule.paused && isSame(known.schedule, schedule)) return
    this.#drop(schedule.name)
    if (schedule.paused || this.#stopped) return
    let instants: Instants
    try {
      instants = await instantsOf(schedule)
    } catch (error) {
      // Without croner, or with an expression that this version of it refuses, the others are fired all the same.
      return this.#publishError(error)
    }
    if (this.#stopped) return
    const entry: Entry = { schedule, instants, from: Math.max(schedule.since, mark?.passedTo ?? 0), timer: undefined }
    this.#entries.set(schedule.name, entry)
    await this.#arm(entry)
  }

  #drop(name: string): void {
    this.#entries.get(name)?.timer?.cancel()
    this.#entries.delete(name)
  }

  // ── firing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Waits for the next slot. */
  async #arm(entry: Entry): Promise<void> {
    const next = entry.instants.next(entry.from)
    if (next === undefined) return
    const waitMs = Math.max(0, next - (await this.#time.now()))
    this.#fireAfter(entry, waitMs)
  }

  #fireAfter(entry: Entry, ms: number): void {
    if (!this.#isCurrent(entry)) return
    entry.timer?.cancel()
    entry.timer = this.#options.clock.after(ms, () => {
      this.#work(async () => {
        await this.#fireDue(entry)
        if (this.#isCurrent(entry)) await this.#arm(entry)
      }).catch(() => this.#fireAfter(entry, retryMs))
    })
  }

  async #fireDue(entry: Entry): Promise<void> {
    const { name, overlap } = entry.schedule
    const now = await this.#time.now()
    const { fire, skipped } = dueSlots(entry.instants, entry.schedule, entry.from, now)
    if (fire.length === 0 && skipped === 0) return
    // It may have been paused, changed or removed, and the hint lost.
    const stored = await this.#store.get(name)
    if (!this.#isCurrent(entry)) return
    if (!stored || stored.paused || !isSame(stored, entry.schedule)) {
      this.#drop(name)
      return this.#reload()
    }
    if (skipped > 0) await this.#skip(entry, (fire[0] ?? now + 1) - 1, skipped)
    if (overlap !== 'skip') return this.#fire(entry, fire)
    for (const slot of fire) if (this.#isCurrent(entry)) await this.#fireUnlessLive(entry, slot)
  }

  async #fire(entry: Entry, slots: readonly number[]): Promise<void> {
    const { clock, publishEvent } = this.#options
    const { schedule } = entry
    if (slots.length === 0 || !this.#isCurrent(entry)) return
    const verdicts = await this.#storage.add(slots.map((slot) => slotJob(schedule, slot, clock.newId())))
    let firedAt: number | undefined
    for (const [index, verdict] of verdicts.entries()) {
      const slotAt = slots[index]!
      // Another process was first, and may be ahead.
      entry.from = Math.max(entry.from, verdict.verdict === 'stale' ? verdict.version : slotAt)
      if (verdict.verdict !== 'added') continue
      firedAt = slotAt
      publishEvent({ name: 'schedule_fired', schedule: schedule.name, slotAt, ...refOf(verdict.job) })
    }
    if (firedAt !== undefined) await this.#store.raiseMark(schedule.name, { passedTo: firedAt, firedAt })
  }

  async #fireUnlessLive(entry: Entry, slot: number): Promise<void> {
    const { name, job } = entry.schedule
    // Another process may have skipped it while its predecessor was live.
    const mark = await this.#store.mark(name)
    if (mark && mark.passedTo >= slot) return void (entry.from = Math.max(entry.from, mark.passedTo))
    // The job of the slot before, while it is live.
    const [live] = await this.#storage.get([{ type: job.type, key: slotKey(name) }])
    if (live && live.id === slotId(name, slot)) return void (entry.from = slot)
    return live ? this.#skip(entry, slot, 1) : this.#fire(entry, [slot])
  }

  /** Passes over slots. One process of all publishes it. */
  async #skip(entry: Entry, passedTo: number, count: number): Promise<void> {
    const { name, job } = entry.schedule
    entry.from = Math.max(entry.from, passedTo)
    if (!(await this.#store.raiseMark(name, { passedTo }))) return
    this.#options.publishEvent({ name: 'schedule_skipped', schedule: name, type: job.type, count })
  }

  /** Publishes what fails. @throws the same */
  async #work(run: () => Promise<void>): Promise<void> {
    const work = run().catch((error: unknown) => {
      this.#publishError(error)
      throw error
    })
    const ended = work.catch(() => {})
    this.#working.add(ended)
    await work.finally(() => this.#working.delete(ended))
  }

  #isCurrent(entry: Entry): boolean {
    return !this.#stopped && this.#entries.get(entry.schedule.name) === entry
  }

  #publishError(error: unknown): void {
    if (!this.#stopped) this.#options.publishEvent({ name: 'error', error: error as Error })
  }
}

const isSame = (a: StoredSchedule, b: StoredSchedule): boolean => a.since === b.since && isSameSchedule(a, b)
const refOf = ({ type, id }: JobRef): JobRef => ({ type, id })
