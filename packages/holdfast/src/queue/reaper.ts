// The Reaper: takes back attempts that run too long, from dead and live workers alike. Correctness does not depend on it: any claim
// finds a job whose lease has ended. The Reaper makes that prompt, and emits `stalled`.

import { EventEmitter } from 'node:events'
import { type Clock, systemClock, type Timer } from '../clock.ts'
import { Connection } from '../engine/connection.ts'
import { emitSafely, type Logger } from '../engine/emit.ts'
import { invalidArgument } from '../errors.ts'
import { type EngineEvent, type PublishEvent, eventPublisher } from '../engine/events.ts'
import { engineDefaults } from '../engine/defaults.ts'
import { Lifecycle } from '../engine/lifecycle.ts'
import { eventLog } from '../engine/log-events.ts'
import { leaderOptions } from '../engine/options.ts'
import { queueOptions, reaperOptions, streamOptions } from './options.ts'
import { resolveOptions } from '../resolve-options.ts'
import { type GuardedStorage, guardStorage } from '../engine/guard.ts'
import type { Serde } from '../engine/job/serde.ts'
import type { Storage } from '../storage/storage.ts'
import { storedType } from '../storage/stored-type.ts'
import { Leader } from '../engine/upkeep/leader.ts'
import { ReaperLetters } from './reaper-letters.ts'

/** Options of the leader election among several Reapers. */
export interface LeaderElection {
  /** Whether the Reapers elect a leader, which alone acts. @default false */
  readonly enabled: boolean
  /** How long the lock of a dead leader lasts, in ms. @default 30_000 */
  readonly lockTTL?: number
  /** Time between two renewals of the lock, in ms; below lockTTL. @default lockTTL / 3 */
  readonly renewalInterval?: number
  /** Time between two attempts to take the lock, in ms. @default 5_000 */
  readonly acquireRetryInterval?: number
}

/** Options of a Reaper. */
export interface ReaperConfig {
  /** Storage of the jobs. Required. */
  readonly storage: Storage
  /** Name or names of the queues to watch. @default 'default' */
  readonly name?: string | readonly string[] | undefined
  /** Face of those queues. @default 'queue' */
  readonly face?: string | undefined
  /** Age in ms from which an attempt is taken back, from dead and **live** workers alike. Longer than any healthy run. @default 30_000 */
  readonly timeoutMs?: number | undefined
  /** Alias of timeoutMs. */
  readonly visibilityTimeout?: number | undefined
  /**
   * Name of the queue to which a job adds a DeadLetter if it fails because the Reaper took back its last attempt: the same as
   * `deadLetter` of its queue. Added after the failure, by a call of its own. @default none
   */
  readonly deadLetter?: string | undefined
  /** With `deadLetter`: decodes the payloads for the letters. The same as that of the queues. @default as of a Queue */
  readonly payloadSerde?: Serde<unknown> | undefined
  /** Time between two checks, in ms. @default timeoutMs / 4, within 25 … 1000 */
  readonly checkInterval?: number | undefined
  /** Leader election: only one of several Reapers acts. It saves work; a stalled attempt is taken back once in any case. @default off */
  readonly leaderElection?: LeaderElection | undefined
  /** Receives stalls, errors and lost connections, each at its level. @default none */
  readonly logger?: Logger | undefined
  /** Source of local time; a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock | undefined
}

/** Events of a Reaper and their arguments. */
export interface ReaperEvents {
  /** A check failed; the next one comes after checkInterval. */
  error: [error: Error]
  /** The Reaper took back an attempt of this job. */
  stalled: [id: string]
  /** This Reaper acts from now on (`leaderElection`). */
  leadershipAcquired: []
  /** Another Reaper acts from now on (`leaderElection`). */
  leadershipLost: []
}

/** Takes back attempts of the named queues that run longer than `timeoutMs`, 30_000 ms by default. */
export class Reaper extends EventEmitter<ReaperEvents> {
  readonly reaperId: string
  readonly #clock: Clock
  readonly #names: readonly string[]
  readonly #types: readonly string[]
  readonly #timeoutMs: number
  readonly #checkInterval: number
  readonly #logger: Logger | undefined
  readonly #storage: GuardedStorage
  readonly #connection: Connection
  readonly #publishEvent: PublishEvent
  readonly #leader: Leader | undefined
  readonly #letters: ReaperLetters | undefined
  readonly #lifecycle: Lifecycle<void>
  #timer: Timer | undefined
  #checking: Promise<void> | undefined

  /** @throws TypeError INVALID_ARGUMENT */
  constructor(config: ReaperConfig) {
    super()
    const resolved = resolveOptions('Reaper', config, reaperOptions)
    queueOptions.storage.check('storage', resolved.storage)
    const { name, face, timeoutMs, storage, logger } = resolved
    this.#clock = resolved.clock ?? systemClock
    this.#names = typeof name === 'string' ? [name] : [...name]
    this.#types = this.#names.map((each) => storedType(face, each))
    this.#timeoutMs = timeoutMs
    this.#checkInterval = resolved.checkInterval ?? Math.min(1_000, Math.max(25, Math.round(timeoutMs / 4)))
    this.#logger = logger
    this.reaperId = this.#clock.newId()
    const log = eventLog(logger, `reaper of ${this.#names.map((each) => `'${each}'`).join(', ')}`)
    this.#publishEvent = eventPublisher((event) => {
      log?.(event)
      this.#emit(event)
    })
    this.#storage = guardStorage(storage, this.#clock, this.#publishEvent)
    this.#connection = new Connection(this.#storage, this.#names.join(', '))
    this.#leader = this.#newLeader(resolved.leaderElection)
    const { deadLetter, payloadSerde } = resolved
    if (payloadSerde && deadLetter === undefined) {
      throw invalidArgument('payloadSerde', 'deadLetter beside it', payloadSerde)
    }
    const engine = { storage: this.#storage, clock: this.#clock, publishEvent: this.#publishEvent }
    this.#letters =
      deadLetter === undefined
        ? undefined
        : new ReaperLetters({ ...engine, face, names: this.#names, deadLetter, payloadSerde })
    this.#lifecycle = new Lifecycle({
      clock: this.#clock,
      open: (signal) => this.#open(signal),
      close: () => this.#close(),
      onFailure: (error) => this.#publishEvent({ name: 'error', error }),
    })
  }

  /** Whether this Reaper is the leader. False while election is off. */
  get isLeader(): boolean {
    return this.#leader?.leads ?? false
  }

  /** Connects the storage and starts the checks. Resolves when ready; an unavailable storage is retried. Idempotent. @throws as Queue.start() */
  start(): Promise<void> {
    return this.#lifecycle.start()
  }

  /** Starts the Reaper, and resolves when it was stopped. @param options.signal stops it @throws as start() */
  async run(options?: { readonly signal?: AbortSignal | undefined }): Promise<void> {
    const { signal } = resolveOptions('run', options, streamOptions)
    await this.#lifecycle.run(signal)
  }

  /** Stops the checks, gives up the leader's lock and disconnects. Idempotent. */
  stop(): Promise<void> {
    return this.#lifecycle.stop()
  }

  /** Stops the Reaper, at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #open(signal: AbortSignal): Promise<void> {
    await this.#connection.start()
    try {
      await this.#leader?.start()
    } catch (error) {
      await this.#connection.close()
      throw error
    }
    if (!signal.aborted) this.#schedule(signal)
  }

  async #close(): Promise<void> {
    this.#timer?.cancel()
    await this.#checking
    try {
      await this.#letters?.flush(engineDefaults.stopWritesMs)
      await this.#leader?.stop()
      await this.#connection.stop()
    } catch (error) {
      this.#publishEvent({ name: 'error', error: error as Error })
    }
  }

  #schedule(signal: AbortSignal): void {
    this.#timer = this.#clock.after(this.#checkInterval, () => (this.#checking = this.#turn(signal)))
  }

  async #turn(signal: AbortSignal): Promise<void> {
    await this.#check(signal)
    if (!signal.aborted) this.#schedule(signal)
  }

  async #check(signal: AbortSignal): Promise<void> {
    const limit = engineDefaults.batch
    try {
      for (;;) {
        if (this.#leader && !(await this.#leader.confirm())) return
        const request = { types: this.#types, limit, olderThanMs: this.#timeoutMs }
        const recovered = await this.#storage.recover(request)
        for (const { type, id } of recovered) this.#publishEvent({ name: 'stalled', type, id })
        await this.#letters?.addFor(recovered)
        if (recovered.length < limit || signal.aborted) return
      }
    } catch (error) {
      this.#publishEvent({ name: 'error', error: error as Error })
    }
  }

  #newLeader(given: LeaderElection | undefined): Leader | undefined {
    const election = resolveOptions('leaderElection', given, leaderOptions)
    const { enabled, lockTTL, acquireRetryInterval } = election
    const renewalInterval = election.renewalInterval ?? Math.max(1, Math.floor(lockTTL / 3))
    if (renewalInterval >= lockTTL)
      throw invalidArgument('renewalInterval', `less than lockTTL (${lockTTL})`, renewalInterval)
    if (!enabled) return undefined
    return new Leader({
      kv: this.#storage.kv,
      key: ['holdfast', 'reaper', ...this.#types.toSorted()],
      id: this.reaperId,
      clock: this.#clock,
      lockTTL,
      renewalInterval,
      acquireRetryInterval,
      onAcquired: () => emitSafely(this, this.#logger, 'leadershipAcquired'),
      onLost: () => emitSafely(this, this.#logger, 'leadershipLost'),
      onError: (error) => this.#publishEvent({ name: 'error', error: error as Error }),
    })
  }

  #emit(event: EngineEvent): void {
    if (event.name === 'stalled') emitSafely(this, this.#logger, 'stalled', event.id)
    else if (event.name === 'error') emitSafely(this, this.#logger, 'error', event.error)
  }
}
