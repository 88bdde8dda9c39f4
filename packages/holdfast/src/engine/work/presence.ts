// The presence of a worker: an entry in the key-value store, written at the start and once per period, deleted at the stop. Its
// time to live is 2.5 periods, so that a dead worker disappears. A write that fails is no failure of the worker.

import { hostname } from 'node:os'
import type { Clock, Timer } from '../../clock.ts'
import type { KeyValue, KvKey } from '../../storage/kv.ts'
import { parseType } from '../../storage/stored-type.ts'
import { version } from '../../version.ts'
import type { PublishEvent } from '../events.ts'

/** A worker, as it described itself last. Instants are epoch ms, by the clock of the worker. */
export interface WorkerInfo {
  /** Unique to each start of a worker. */
  readonly id: string
  /** Name for people: the `workerId` of the options. */
  readonly label: string
  /** Name of its machine. */
  readonly host: string
  /** Id of its process. */
  readonly pid: number
  /** Version of Holdfast. */
  readonly version: string
  /** What it serves. */
  readonly types: readonly { readonly face: string; readonly name: string }[]
  /** Handlers that it may run at a time. */
  readonly concurrency: number
  /** Handlers that ran at that moment. */
  readonly slotsUsed: number
  /** Its shortest lease, in ms. */
  readonly leaseMs?: number
  /** Handlers that may have a transaction of the storage open at a time, where a pool of connections bounds them. */
  readonly transactions?: number
  /** How late its timer fired at that moment, in ms. A large one means a blocked event loop. */
  readonly loopDelayMs: number
  /** When it started, in epoch ms. */
  readonly startedAt: number
  /** When it last wrote its entry, in epoch ms. */
  readonly lastSeenAt: number
}

export const workersKey: KvKey = ['holdfast', 'workers']

/** Time to live of an entry, in periods: a worker may miss one write. */
const lifePeriods = 2.5

export interface PresenceOptions {
  readonly kv: Pick<KeyValue, 'set' | 'delete'>
  readonly clock: Clock
  readonly id: string
  readonly label: string
  readonly types: readonly { readonly type: string; readonly leaseMs: number }[]
  readonly concurrency: number
  readonly transactions?: number | undefined
  /** Time between two writes, in ms. False: nothing is written. */
  readonly presenceMs: number | false
  readonly running: { readonly size: number }
  readonly publishEvent: PublishEvent
}

export class Presence {
  readonly #options: PresenceOptions
  readonly #key: KvKey
  #startedAt: number | undefined
  #writing: Promise<void> = Promise.resolve()
  #timer: Timer | undefined
  #stopped = false

  constructor(options: PresenceOptions) {
    this.#options = options
    this.#key = [...workersKey, options.id]
  }

  /** Writes the entry. The worker does not wait for it. */
  start(): void {
    const { presenceMs, clock } = this.#options
    if (presenceMs === false || this.#stopped) return
    this.#startedAt = clock.now()
    this.#write(presenceMs, 0)
  }

  /** Deletes the entry. Never rejects. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    if (this.#startedAt === undefined) return
    // After the write under way: that one would bring the entry back.
    await this.#writing
    await this.#options.kv.delete(this.#key).catch((error: Error) => this.#fail(error))
  }

  #write(presenceMs: number, loopDelayMs: number): void {
    const { kv, clock } = this.#options
    const dueAt = clock.monotonic() + presenceMs
    const next = (): void => this.#write(presenceMs, Math.max(0, Math.round(clock.monotonic() - dueAt)))
    this.#timer = clock.after(presenceMs, next, { keepsAlive: false })
    const ttlMs = lifePeriods * presenceMs
    this.#writing = kv.set(this.#key, this.#bytes(loopDelayMs), { ttlMs }).catch((error: Error) => this.#fail(error))
  }

  #bytes(loopDelayMs: number): Uint8Array {
    const { id, label, types, concurrency, transactions, running, clock } = this.#options
    const info: WorkerInfo = {
      id,
      label,
      host: hostname(),
      pid: process.pid,
      version,
      types: types.map(({ type }) => parseType(type)),
      concurrency,
      slotsUsed: running.size,
      ...(transactions !== undefined && { transactions }),
      leaseMs: Math.min(...types.map(({ leaseMs }) => leaseMs)),
      loopDelayMs,
      startedAt: this.#startedAt!,
      lastSeenAt: clock.now(),
    }
    return Buffer.from(JSON.stringify(info))
  }

  #fail(error: Error): void {
    this.#options.publishEvent({ name: 'presence_failed', error })
  }
}
