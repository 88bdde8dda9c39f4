// Leader election by a lock in the key-value store. A candidate takes the lock while it is absent, and renews it while it holds it.
// Invariant: a leader confirms the lock before each act, so one that was paused past its lock learns of it first.

import type { Clock, Timer } from '../../clock.ts'
import type { KeyValue, KvKey } from '../../storage/kv.ts'

export interface LeaderOptions {
  readonly kv: KeyValue
  readonly key: KvKey
  /** Name of this candidate, unique among all. */
  readonly id: string
  readonly clock: Clock
  readonly lockTTL: number
  readonly renewalInterval: number
  readonly acquireRetryInterval: number
  onAcquired(): void
  onLost(): void
  onError(error: unknown): void
}

export class Leader {
  readonly #options: LeaderOptions
  readonly #value: Uint8Array
  #leads = false
  /** The instant until which this candidate certainly holds the lock: local, monotonic ms. */
  #until = 0
  #timer: Timer | undefined
  #campaigning: Promise<void> | undefined
  #stopped = false

  constructor(options: LeaderOptions) {
    this.#options = options
    this.#value = Buffer.from(options.id)
  }

  get leads(): boolean {
    return this.#leads
  }

  async start(): Promise<void> {
    this.#stopped = false
    await (this.#campaigning = this.#campaign())
  }

  /** Whether this candidate holds the lock now. To be called before each act. @throws what the storage rejects with */
  async confirm(): Promise<boolean> {
    if (!this.#leads) return false
    if (this.#options.clock.monotonic() < this.#until - this.#options.lockTTL / 2) return true
    return this.#renew()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    await this.#campaigning
    if (!this.#leads) return
    this.#lose()
    await this.#options.kv.cas(this.#options.key, this.#value, undefined)
  }

  async #campaign(): Promise<void> {
    const { kv, key, clock, lockTTL, renewalInterval, acquireRetryInterval, onAcquired, onError } = this.#options
    try {
      if (this.#leads) {
        await this.#renew()
      } else {
        const sentAt = clock.monotonic()
        const acquired = await kv.setIfAbsent(key, this.#value, { ttlMs: lockTTL })
        if (acquired && this.#stopped) {
          await kv.cas(key, this.#value, undefined)
        } else if (acquired) {
          this.#until = sentAt + lockTTL
          this.#leads = true
          onAcquired()
        }
      }
    } catch (error) {
      onError(error)
      if (this.#leads && clock.monotonic() >= this.#until) this.#lose()
    }
    if (this.#stopped) return
    const waitMs = this.#leads ? renewalInterval : acquireRetryInterval
    this.#timer = clock.after(waitMs, () => {
      this.#campaigning = this.#campaign()
    })
  }

  async #renew(): Promise<boolean> {
    const { kv, key, clock, lockTTL } = this.#options
    const sentAt = clock.monotonic()
    const renewed = await kv.cas(key, this.#value, this.#value, { ttlMs: lockTTL })
    if (renewed) this.#until = sentAt + lockTTL
    else this.#lose()
    return renewed
  }

  #lose(): void {
    if (!this.#leads) return
    this.#leads = false
    this.#options.onLost()
  }
}
