// Ends its own process by SIGKILL at the kill point that HOLDFAST_CRASH names: no handler, no finally, no flush.

import type { Storage } from 'holdfast'
import { aroundStorage } from './around-storage.ts'
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

  /** Calls of the storage come to their points. */
  wrap(storage: Storage): Storage {
    if (this.#point === undefined) return storage
    return aroundStorage(storage, async (verb, _, call) => {
      if (this.#isDue(verb, 'before')) this.now()
      const answer = await call()
      if (this.#isDue(verb, 'applied')) this.now()
      return answer
    })
  }

  /** A handler has come to this place. */
  inHandler(moment: 'start' | 'middle' | 'end'): void {
    if (this.#isDue('handler', moment)) this.now()
  }

  now(name?: string): never {
    this.#log.write({ what: 'crashing', point: name ?? written(this.#point!) })
    process.kill(process.pid, 'SIGKILL')
    // Not one step further.
    for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  }

  /** A call that failed was not applied, so it may be a later one than the number says. */
  #isDue(step: string, moment: string): boolean {
    const point = this.#point
    return point !== undefined && point.step === step && point.moment === moment && ++this.#calls >= point.number
  }
}
