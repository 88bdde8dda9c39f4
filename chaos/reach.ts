// Writes down the first call that the storage answers after each mark: how long a process takes to be back.

import type { Storage } from 'holdfast'
import { aroundStorage } from './around-storage.ts'
import type { Log } from './log.ts'

/** These may be answered without the server. */
const local = ['connect', 'disconnect', 'listen', 'unlisten']

export class Reach {
  readonly #log: Log
  #mark: number | undefined

  constructor(log: Log) {
    this.#log = log
  }

  /** The server, or the way to it, is there again. */
  mark(number: number): void {
    this.#mark = number
  }

  wrap(storage: Storage): Storage {
    return aroundStorage(storage, async (verb, _, call) => {
      const answer = await call()
      if (this.#mark !== undefined && !local.includes(verb)) {
        this.#log.write({ what: 'reached', mark: this.#mark })
        this.#mark = undefined
      }
      return answer
    })
  }
}
