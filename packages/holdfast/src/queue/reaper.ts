// The Reaper: takes back attempts that run too long, from dead and live workers alike. Nothing depends on it: a lease is a
// visibility time, and any claim finds what was lost. It makes that prompt, and says `stalled`.

import { EventEmitter } from 'node:events'
import { type Clock, systemClock, type Timer } from '../clock.ts'
import { Connection } from '../engine/connection.ts'
import { emitSafely, type Logger } from '../engine/emit.ts'
import { invalidArgument } from '../errors.ts'
import { type EngineEvent, type Tell, teller } from '../engine/events.ts'
import type { Serde } from '../engine/job/serde.ts'
import { engineDefaults, leaderOptions, queueOptions, reaperOptions } from '../engine/options.ts'
import { resolveOptions } from '../resolve-options.ts'
import { type GuardedStorage, guardStorage } from '../engine/guard.ts'
import type { Storage } from '../storage/storage.ts'
import { Leader } from '../engine/upkeep/leader.ts'

export interface LeaderElection {
  readonly enabled: boolean
  /** How long a leader that died still counts as one, in ms. @default 30_000 */
  readonly lockTTL?: number
  /** Below lockTTL. @default lockTTL / 3 */
  readonly renewalInterval?: number
  /** @default 5_000 */
  readonly acquireRetryInterval?: number
}

export interface ReaperConfig<TPayload = unknown> {
  readonly storage: Storage
  /** The queues it watches. @default 'default' */
  readonly name?: string | readonly string[]
  /** From the start of the attempt, in ms. @default 30_000 */
  readonly visibilityTimeout?: number
  /** Between two looks, in ms. @default visibilityTimeout / 4, within 25 … 1000 */
  readonly checkInterval?: number
  /** Only one of several acts. It saves work; each stall is taken back once in any case. @default off */
  readonly leaderElection?: LeaderElection
  /** Accepted, never called. */
  readonly payloadSerde?: Serde<TPayload>
  readonly logger?: Logger
  /** @default the system's */
  readonly clock?: Clock
}

export interface ReaperEvents {
  error: [error: Error]
  stalled: [id: string]
  leadershipAcquired: []
  leadershipLost: []
}

export class Reaper<TPayload = unknown> extends EventEmitter<ReaperEvents> {
  readonly reaperId: string
  readonly #clock: Clock
  readonly #names: readonly string[]
  readonly #visibilityTimeout: number
  readonly #checkInterval: number
  readonly #logger: Logger | undefined
  readonly #storage: GuardedStorage
  readonly #connection: Connection
  readonly #tell: Tell
  readonly #leader: Leader | undefined
  #timer: Timer | undefined
  #checking: Promise<void> | undefined
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined

  /** @throws TypeError INVALID_ARGUMENT */
  constructor(config: ReaperConfig<TPayload>) {
    super()
    const resolved = resolveOptions('Reaper', config, reaperOptions)
    queueOptions.storage.check('storage', resolved.storage)
    const { name, visibilityTimeout, storage } = resolved
    this.#clock = resolved.clock ?? systemClock
    this.#names = typeof name === 'string' ? [name] : [...name]
    this.#visibilityTimeout = visibilityTimeout
    this.#checkInterval = resolved.checkInterval ?? Math.min(1_000, Math.max(25, Math.round(visibilityTimeout / 4)))
    this.#logger = resolved.logger
    this.reaperId = this.#clock.newId()
    this.#tell = teller((event) => this.#heed(event))
    this.#storage = guardStorage(storage, this.#clock, this.#tell)
    this.#connection = new Connection(this.#storage, this.#names.join(', '))
    this.#leader = this.#newLeader(resolved.leaderElection)
  }

  /** False while election is off. */
  get isLeader(): boolean {
    return this.#leader?.leads ?? false
  }

  /** Idempotent. @throws StorageError; the next start tries afresh */
  start(): Promise<void> {
    if (this.#starting) return this.#starting
    const starting: Promise<void> = this.#start().catch((error: unknown) => {
      // After a stop it may be another's.
      if (this.#starting === starting) this.#starting = undefined
      throw error
    })
    this.#starting = starting
    return starting
  }

  /** Idempotent. Gives the lock up. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop().finally(() => (this.#stopping = undefined))
    return this.#stopping
  }

  async #start(): Promise<void> {
    await this.#stopping
    await this.#connection.start()
    await this.#leader?.start()
    this.#schedule()
  }

  async #stop(): Promise<void> {
    const starting = this.#starting
    this.#starting = undefined
    await starting?.catch(() => {})
    this.#timer?.cancel()
    await this.#checking
    try {
      await this.#leader?.stop()
      await this.#connection.stop()
    } catch (error) {
      this.#tell({ name: 'error', error: error as Error })
    }
  }

  #schedule(): void {
    this.#timer = this.#clock.after(this.#checkInterval, () => (this.#checking = this.#turn()))
  }

  async #turn(): Promise<void> {
    await this.#check()
    if (this.#starting && !this.#stopping) this.#schedule()
  }

  async #check(): Promise<void> {
    const limit = engineDefaults.batch
    try {
      for (;;) {
        if (this.#leader && !(await this.#leader.confirm())) return
        const request = { types: this.#names, limit, olderThanMs: this.#visibilityTimeout }
        const recovered = await this.#storage.recover(request)
        for (const { type, id } of recovered) this.#tell({ name: 'stalled', type, id })
        if (recovered.length < limit || this.#stopping) return
      }
    } catch (error) {
      this.#tell({ name: 'error', error: error as Error })
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
      key: ['holdfast', 'reaper', ...this.#names.toSorted()],
      id: this.reaperId,
      clock: this.#clock,
      lockTTL,
      renewalInterval,
      acquireRetryInterval,
      onAcquired: () => emitSafely(this, this.#logger, 'leadershipAcquired'),
      onLost: () => emitSafely(this, this.#logger, 'leadershipLost'),
      onError: (error) => this.#tell({ name: 'error', error: error as Error }),
    })
  }

  #heed(event: EngineEvent): void {
    if (event.name === 'stalled') emitSafely(this, this.#logger, 'stalled', event.id)
    else if (event.name === 'error') emitSafely(this, this.#logger, 'error', event.error)
  }
}
