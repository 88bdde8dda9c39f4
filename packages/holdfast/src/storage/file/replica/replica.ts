// The replica of one process: the data of all commits up to a number, in memory.

import { Data, type TypeData } from '../../memory/data.ts'
import { KvData } from '../../memory/kv-data.ts'
import type { Listeners } from '../../rules/signals.ts'

export class Replica {
  readonly #listenersOf: (type: string) => Listeners
  data: Data
  kv = new KvData((key) => this.onEntry?.(key))
  /** Called with the key of a key-value entry before the entry changes. */
  onEntry: ((key: string) => void) | undefined = undefined

  constructor(listenersOf: (type: string) => Listeners) {
    this.#listenersOf = listenersOf
    this.data = new Data(listenersOf)
  }

  /** Deletes an unused type. A flow is deleted by a commit only, so that all replicas have the same. */
  prune(type: TypeData): void {
    if (!type.flow) this.data.prune(type, 0)
  }

  /** Numbers continue: none is given out twice. */
  clear(): void {
    const { lastNumber } = this.data
    this.data = new Data(this.#listenersOf)
    this.data.lastNumber = lastNumber
    this.kv = new KvData((key) => this.onEntry?.(key))
  }
}
