// Ends its own process by SIGKILL at the kill point that HOLDFAST_CRASH names: no handler, no finally, no flush.

import type { Storage } from 'holdfast'
import type { ClaimRequest } from 'holdfast/storage'
import { wrapStorage } from './wrap-storage.ts'
import type { Log } from './log.ts'
import { type Point, written } from './points.ts'

export class Crash {
  readonly #point: Point | undefined
  readonly #log: Log
  #calls = 0

  constructor(point: Point | undefined, log: Log) {
    this.#point = point
    this.#log = log
  }

  /** Wraps a storage so that its calls reach their kill points. */
  wrap(storage: Storage): Storage {
    if (this.#point === undefined) return storage
    return wrapStorage(storage, async (verb, args, call) => {
      const steps = verb === 'claim' && hasOutcomes(args[0] as ClaimRequest) ? [verb, 'outcomes'] : [verb]
      if (steps.some((step) => this.#isDue(step, 'before'))) this.now()
      const answer = await call()
      if (steps.some((step) => this.#isDue(step, 'applied'))) this.now()
      return answer
    })
  }

  /** Called by a handler at this point. */
  inHandler(moment: 'start' | 'middle' | 'end'): void {
    if (this.#isDue('handler', moment)) this.now()
  }

  now(name?: string): never {
    this.#log.write({ what: 'crashing', point: name ?? written(this.#point!) })
    process.kill(process.pid, 'SIGKILL')
    // Block, so that no further statement runs.
    for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  }

  /** A failed call was not applied and does not count. */
  #isDue(step: string, moment: string): boolean {
    const point = this.#point
    return point !== undefined && point.step === step && point.moment === moment && ++this.#calls >= point.number
  }
}

const hasOutcomes = ({ outcomes }: ClaimRequest): boolean => outcomes !== undefined && outcomes.length > 0
