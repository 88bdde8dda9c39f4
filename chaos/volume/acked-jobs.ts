// Counts the acknowledged jobs of a run for volume while it goes on, from what was added to the logs since the last look.

import { closeSync, fstatSync, globSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { entryOf } from './volume-log.ts'

export class AckedJobs {
  readonly #logs: string
  readonly #read = new Map<string, number>()
  #acked = 0

  constructor(logs: string) {
    this.#logs = logs
  }

  /** A batch is acknowledged once: a producer begins after the last acknowledged one. */
  read(): number {
    for (const file of globSync('producer-*.volume', { cwd: this.#logs })) {
      for (const line of this.#newLines(join(this.#logs, file))) {
        const entry = entryOf(line, '')
        if (entry?.what === 'acked') this.#acked += entry.to - entry.from
      }
    }
    return this.#acked
  }

  #newLines(file: string): string[] {
    const from = this.#read.get(file) ?? 0
    const descriptor = openSync(file, 'r')
    try {
      const bytes = Buffer.alloc(fstatSync(descriptor).size - from)
      readSync(descriptor, bytes, 0, bytes.length, from)
      const end = bytes.lastIndexOf(10) + 1
      this.#read.set(file, from + end)
      return bytes.subarray(0, end).toString().split('\n')
    } finally {
      closeSync(descriptor)
    }
  }
}
