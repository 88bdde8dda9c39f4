// The number of jobs acknowledged so far, read from the producers' logs as they grow: for the progress line.

import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'

const mark = '"what":"acked"'

export class AckedTally {
  readonly #directory: string
  readonly #offsets = new Map<string, number>()
  #count = 0

  constructor(directory: string) {
    this.#directory = directory
  }

  read(): number {
    for (const name of readdirSync(this.#directory)) {
      if (name.startsWith('producer') && name.endsWith('.log')) this.#read(name)
    }
    return this.#count
  }

  #read(name: string): void {
    const from = this.#offsets.get(name) ?? 0
    const descriptor = openSync(join(this.#directory, name), 'r')
    const bytes = Buffer.alloc(fstatSync(descriptor).size - from)
    readSync(descriptor, bytes, 0, bytes.length, from)
    closeSync(descriptor)
    this.#offsets.set(name, from + bytes.length)
    this.#count += bytes.toString('latin1').split(mark).length - 1
  }
}
