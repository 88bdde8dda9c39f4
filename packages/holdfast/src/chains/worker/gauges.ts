// How many slots of a worker are idle for each type, and how many jobs of it run: told when that changes, if there is a listener.

import type { Clock } from '../../clock.ts'
import { isWatched } from '../../engine/events.ts'
import type { PublishChainEvent } from '../events/chain-events.ts'
import type { Observer } from '../events/observer.ts'

interface GaugesOptions {
  readonly workerId: string
  readonly concurrency: number
  readonly typeNames: readonly string[]
  readonly observer: Partial<Observer> | undefined
  readonly clock: Pick<Clock, 'soon'>
  readonly publishChainEvent: PublishChainEvent
}

export class Gauges {
  readonly #options: GaugesOptions
  /** Running jobs, by type. */
  readonly #running = new Map<string, number>()
  /** The last value that was told, by gauge and type. */
  readonly #told = new Map<string, number>()
  #slots = 0
  #isPending = false

  constructor(options: GaugesOptions) {
    this.#options = options
  }

  /** The worker takes jobs from now on. */
  start(): void {
    this.#slots = this.#options.concurrency
    this.#publishEvent()
  }

  /** The worker takes no more jobs. */
  stop(): void {
    this.#slots = 0
    this.#publishEvent()
  }

  began(typeName: string): void {
    this.#change(typeName, 1)
  }

  ended(typeName: string): void {
    this.#change(typeName, -1)
  }

  #change(typeName: string, by: number): void {
    this.#running.set(typeName, (this.#running.get(typeName) ?? 0) + by)
    if (this.#isPending || !this.#isWanted()) return
    this.#isPending = true
    // Jobs that begin and end together are told once.
    this.#options.clock.soon(() => this.#publishEvent())
  }

  #isWanted(): boolean {
    const { observer } = this.#options
    return observer?.jobTypeIdle !== undefined || observer?.jobTypeProcessing !== undefined || isWatched()
  }

  #publishEvent(): void {
    this.#isPending = false
    if (!this.#isWanted()) return
    const { typeNames, workerId, publishChainEvent } = this.#options
    const all = [...this.#running.values()].reduce((sum, count) => sum + count, 0)
    const idle = Math.max(0, this.#slots - all)
    for (const typeName of typeNames) {
      for (const [name, value] of [
        ['jobTypeProcessing', this.#running.get(typeName) ?? 0],
        ['jobTypeIdle', idle],
      ] as const) {
        if (this.#told.get(`${name} ${typeName}`) === value) continue
        this.#told.set(`${name} ${typeName}`, value)
        publishChainEvent(name, { typeName, workerId, value })
      }
    }
  }
}
