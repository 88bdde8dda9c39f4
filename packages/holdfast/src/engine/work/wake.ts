// When to look again: a hint, the next due instant, or the poll underneath, whichever comes first. Hints may be lost.

import type { Clock, Timer } from '../../clock.ts'
import { engineDefaults } from '../defaults.ts'
import type { GuardedStorage } from '../guard.ts'
import type { Claim, ClaimType, Signal, Unlisten } from '../../storage/storage.ts'

export interface WakeOptions {
  readonly storage: Pick<GuardedStorage, 'listen' | 'nextDueAt'>
  readonly clock: Clock
  readonly types: readonly ClaimType[]
  /** Infinity: hints alone wake. */
  readonly pollMs: number
  /** There may be something to claim. */
  onWake(): void
  /** Something may have happened to these running jobs. */
  onAbort(ids: readonly string[] | undefined): void
}

export class Wake {
  readonly #options: WakeOptions
  readonly #longestMs: number
  #timer: Timer | undefined
  #unlisten: Unlisten | undefined
  #stopped = false

  constructor(options: WakeOptions) {
    this.#options = options
    const leases = options.types.map(({ leaseMs }) => leaseMs)
    // Never longer than a lease: so every lease is seen before it ends, whoever took it and whenever.
    this.#longestMs = options.pollMs === Infinity ? Infinity : Math.min(options.pollMs, ...leases)
  }

  /** Before the first look, so that nothing falls between the two. */
  async listen(): Promise<void> {
    const { storage, types } = this.#options
    const topics = types.flatMap(({ type }) => [
      { kind: 'wake' as const, type },
      { kind: 'abort' as const, type },
    ])
    const unlisten = await storage.listen(topics, (signal) => this.#heed(signal))
    if (this.#stopped) await unlisten()
    else this.#unlisten = unlisten
  }

  /**
   * How long until something is due, or somebody should look anyway; no longer than this.
   * @param told by the last claim; else the storage is asked
   */
  async sleepMs(atMostMs: number, told: Claim['nextDue']): Promise<number> {
    const { storage, clock, types } = this.#options
    const due = told === undefined ? await storage.nextDueAt(types) : (told ?? undefined)
    // Due, and yet the look before this found nothing: somebody else has it in hand.
    const dueMs = due === undefined ? Infinity : due.at > due.now ? due.at - due.now : engineDefaults.lockedMs
    const lookMs = this.#longestMs * (1 - clock.random() / 10)
    return Math.min(dueMs, lookMs, atMostMs)
  }

  /** Wakes after this time, or by a hint before. */
  wakeAfter(ms: number): void {
    this.#timer?.cancel()
    if (this.#stopped) return
    this.#timer = this.#options.clock.after(ms, () => this.#options.onWake())
  }

  cancel(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.cancel()
    await this.#unlisten?.()
    this.#unlisten = undefined
  }

  #heed(signal: Signal): void {
    if (signal.kind === 'abort' || signal.gap) this.#options.onAbort(signal.ids)
    if (signal.kind === 'wake' || signal.gap) this.#options.onWake()
  }
}
