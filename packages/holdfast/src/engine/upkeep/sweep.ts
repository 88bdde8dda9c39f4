// Deletes expired records. After a sweep that deleted something the next one comes soon, after an empty one later.

import type { Clock, Timer } from '../../clock.ts'
import type { Tell } from '../events.ts'
import { engineDefaults } from '../defaults.ts'
import type { GuardedStorage } from '../guard.ts'

export class Sweeper {
  readonly #storage: Pick<GuardedStorage, 'sweep'>
  readonly #clock: Clock
  readonly #tell: Tell
  #timer: Timer | undefined
  #stopped = false

  constructor({ storage, clock, tell }: { storage: Pick<GuardedStorage, 'sweep'>; clock: Clock; tell: Tell }) {
    this.#storage = storage
    this.#clock = clock
    this.#tell = tell
  }

  start(): void {
    this.#after(engineDefaults.idleSweepMs)
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  #after(ms: number): void {
    if (this.#stopped) return
    // Jitter, so that the workers of a fleet do not sweep at once.
    const spread = ms * (1 - this.#clock.random() / 10)
    this.#timer = this.#clock.after(spread, () => void this.#sweep(), { keepsAlive: false })
  }

  async #sweep(): Promise<void> {
    let found = 0
    try {
      for (;;) {
        const { jobs, marks, entries, more } = await this.#storage.sweep({ limit: engineDefaults.sweepLimit })
        found += jobs + marks + entries
        if (!more || this.#stopped) break
      }
    } catch (error) {
      this.#tell({ name: 'error', error: error as Error })
    }
    this.#after(found > 0 ? engineDefaults.sweepMs : engineDefaults.idleSweepMs)
  }
}
