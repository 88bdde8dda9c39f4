// What this process knows: the data of all commits up to a number, in memory.

import { Data } from '../../memory/data.ts'
import { KvData } from '../../memory/kv-data.ts'

export class Replica {
  data = new Data()
  kv = new KvData((key) => this.onEntry?.(key))
  /** Told of a key-value entry before it changes. */
  onEntry: ((key: string) => void) | undefined = undefined

  /** Numbers go on: they are never given out again. */
  clear(): void {
    const { lastNumber } = this.data
    this.data = new Data()
    this.data.lastNumber = lastNumber
    this.kv = new KvData((key) => this.onEntry?.(key))
  }
}
