// Deletes expired records, and those beyond the counts of this worker's types. After a sweep that deleted something the next one
// comes soon, after an empty one later.

import type { Clock, Timer } from '../../clock.ts'
import type { Ended, SweepRequest } from '../../storage/storage.ts'
import { isWatched, type PublishEvent, publishToProcess } from '../events.ts'
import { engineDefaults } from '../defaults.ts'
import type { GuardedStorage } from '../guard.ts'
import { publishEnded } from '../work/outcome-events.ts'
import type { WorkType } from '../work/work-type.ts'

interface SweeperOptions {
  readonly storage: Pick<GuardedStorage, 'sweep'>
  readonly clock: Clock
  readonly types: readonly WorkType[]
  readonly publishEvent: PublishEvent
  /** Called with the jobs that a sweep ended. */
  onEnded?(ended: readonly Ended[]): void
}

export class Sweeper {
  readonly #options: SweeperOptions
  readonly #types: ReadonlyMap<string, WorkType>
  readonly #request: SweepRequest
  #timer: Timer | undefined
  #stopped = false

  constructor(options: SweeperOptions) {
    this.#options = options
    this.#types = new Map(options.types.map((work) => [work.type, work]))
    const keep = options.types.flatMap((work) => work.keep ?? [])
    this.#request = { limit: engineDefaults.sweepLimit, ...(keep.length > 0 && { keep }) }
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
    const { clock } = this.#options
    const spread = ms * (1 - clock.random() / 10)
    this.#timer = clock.after(spread, () => void this.#sweep(), { keepsAlive: false })
  }

  async #sweep(): Promise<void> {
    let found = 0
    try {
      for (;;) {
        const { jobs, ended, marks, entries, more } = await this.#options.storage.sweep(this.#request)
        found += jobs + ended.length + marks + entries
        if (ended.length > 0) {
          this.#publishEnded(ended)
          this.#options.onEnded?.(ended)
        }
        if (!more || this.#stopped) break
      }
    } catch (error) {
      this.#options.publishEvent({ name: 'error', error: error as Error })
    }
    this.#after(found > 0 ? engineDefaults.sweepMs : engineDefaults.idleSweepMs)
  }

  /** A sweep is of all types. Those that this worker does not serve are published for the process, not for its face. */
  #publishEnded(ended: readonly Ended[]): void {
    const own = ended.filter(({ type }) => this.#types.has(type))
    publishEnded(own, this.#types, this.#options.publishEvent)
    if (own.length === ended.length || !isWatched()) return
    const foreign = ended.filter(({ type }) => !this.#types.has(type))
    publishEnded(foreign, this.#types, publishToProcess)
  }
}
