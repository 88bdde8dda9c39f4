// The limits of some types, as this process knows them. Invariant: a claim uses a copy that is at most 5 s old. It is read again before
// a claim or an add, never while idle; a hint makes it old at once. So limits that were set or raised apply promptly, and with all
// hints lost within 5 s.

import type { Clock } from '../../clock.ts'
import type { Limits, Unlisten } from '../../storage/storage.ts'
import { engineDefaults } from '../defaults.ts'
import type { GuardedStorage } from '../guard.ts'
import { claimLimits, type EffectiveLimits, effectiveLimits } from './effective-limits.ts'
import type { LimitsOptions } from './limits-options.ts'
import { declareLimits, readLimits, readLimitsOf } from './limits-store.ts'
import { limitsTopic, type StoredLimits } from './stored-limits.ts'

export interface LimitsCopyOptions {
  readonly storage: Pick<GuardedStorage, 'kv' | 'pause' | 'listen'>
  readonly clock: Clock
  /** Each with what code declares for it. */
  readonly types: readonly { readonly type: string; readonly limits?: LimitsOptions | undefined }[]
  /** Number of the deployment. */
  readonly release: number
  /** Whether the limits of another type are read, too. @default none is */
  readonly includes?: ((type: string) => boolean) | undefined
}

interface Known {
  readonly effective: EffectiveLimits
  readonly claim: Limits | undefined
}

export class LimitsCopy {
  readonly #options: LimitsCopyOptions
  /** The types that have limits. Nearly always none: then no add and no claim looks for its type here. */
  readonly #known = new Map<string, Known>()
  /** When the last read was sent: local, monotonic ms. */
  #readAt = -Infinity
  #reading: Promise<void> | undefined
  /** Number of hints: one that comes during a read may be of a change that the read has not seen. */
  #hints = 0

  constructor(options: LimitsCopyOptions) {
    this.#options = options
    for (const { type, limits } of options.types) this.#set(type, effectiveLimits(undefined, { limits, release: 0 }))
  }

  /** Stores what code declares, and reads what is in force. To be called before the first claim. */
  async declare(): Promise<void> {
    const { storage, types, release } = this.#options
    for (const { type, limits } of types) if (limits) await declareLimits(storage, type, { limits, release })
    await this.#read()
    // Of a lower release: what this code does not declare any more.
    if (release > 0) await this.#withdraw()
  }

  /** Calls back when limits were set: the copy is old from then on. */
  listen(onChange: () => void): Promise<Unlisten> {
    return this.#options.storage.listen([{ kind: 'wake', type: limitsTopic }], () => {
      this.#hints++
      this.#readAt = -Infinity
      onChange()
    })
  }

  /** Whether the copy may be used. */
  get isFresh(): boolean {
    return this.#options.clock.monotonic() - this.#readAt < engineDefaults.limitsMs
  }

  /** Reads the limits, unless the copy may be used. */
  refresh(): Promise<void> {
    return this.isFresh ? Promise.resolve() : this.#read()
  }

  /** The limits in force. Undefined: none. */
  of(type: string): EffectiveLimits | undefined {
    return this.#known.size === 0 ? undefined : this.#known.get(type)?.effective
  }

  /** What a claim of the type sends. Undefined: nothing. */
  claimLimits(type: string): Limits | undefined {
    return this.#known.size === 0 ? undefined : this.#known.get(type)?.claim
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readOnce().finally(() => (this.#reading = undefined))
    return this.#reading
  }

  async #readOnce(): Promise<void> {
    const { clock, types, release } = this.#options
    const [sentAt, hints] = [clock.monotonic(), this.#hints]
    const stored = await this.#stored()
    this.#known.clear()
    for (const [type, found] of stored) this.#set(type, effectiveLimits(found, { limits: undefined, release }))
    for (const { type, limits } of types) this.#set(type, effectiveLimits(stored.get(type), { limits, release }))
    if (this.#hints === hints) this.#readAt = sentAt
  }

  async #stored(): Promise<ReadonlyMap<string, StoredLimits>> {
    const { storage, types, includes } = this.#options
    const [first, ...others] = types
    if (first && others.length === 0 && !includes) {
      const found = await readLimitsOf(storage, first.type)
      return new Map(found ? [[first.type, found]] : [])
    }
    const own = new Set(types.map(({ type }) => type))
    return readLimits(storage, (type) => own.has(type) || includes?.(type) === true)
  }

  async #withdraw(): Promise<void> {
    const { storage, types, release } = this.#options
    const gone = types.filter(({ type, limits }) => !limits && this.of(type))
    for (const { type } of gone) await declareLimits(storage, type, { limits: undefined, release })
    if (gone.length > 0) await this.#read()
  }

  #set(type: string, effective: EffectiveLimits | undefined): void {
    if (effective) this.#known.set(type, { effective, claim: claimLimits(effective) })
    else this.#known.delete(type)
  }
}
