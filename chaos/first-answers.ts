// Logs the first call that the storage answers after each mark: it shows how long a process takes to reconnect.

import type { Storage } from 'holdfast'
import { wrapStorage } from './wrap-storage.ts'
import type { Log } from './log.ts'

/** Verbs that may be answered without the server. */
const local = ['connect', 'disconnect', 'listen', 'unlisten']

export class FirstAnswers {
  readonly #log: Log
  #mark: number | undefined

  constructor(log: Log) {
    this.#log = log
  }

  /** The server or its proxy is available again. */
  mark(number: number): void {
    this.#mark = number
  }

  wrap(storage: Storage): Storage {
    return wrapStorage(storage, async (verb, _, call) => {
      const answer = await call()
      if (this.#mark !== undefined && !local.includes(verb)) {
        this.#log.write({ what: 'reached', mark: this.#mark })
        this.#mark = undefined
      }
      return answer
    })
  }
}
