// Hints between the processes that share a database: whoever commits appends a line to a file beside it, and whoever
// listens watches that file and reads what is new. A hint may be lost; the poll underneath finds what it was about.

import {
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  statSync,
  watch,
  type FSWatcher,
  writeSync,
} from 'node:fs'
import type { Clock, Timer } from '../../clock.ts'
import type { Signal } from '../storage.ts'

/** Longer, and it begins anew: whoever was behind is told to look at everything. */
const longestBytes = 256 * 1024
/** More ids than this say as much as none: look. */
const mostIds = 200
/** Where the file cannot be watched. */
const pollMs = 250

export interface HintsOptions {
  readonly path: string
  /** Tells our own lines from those of others. */
  readonly instance: string
  readonly clock: Clock
  onSignal(signal: Signal): void
  /** Something was missed. */
  onGap(): void
}

export class Hints {
  readonly #options: HintsOptions
  readonly #file: number
  #watcher: FSWatcher | undefined
  #timer: Timer | undefined
  #readTo = 0
  #rest = ''

  constructor(options: HintsOptions) {
    this.#options = options
    this.#file = openSync(options.path, 'a+')
  }

  send(signals: readonly Signal[]): void {
    if (signals.length === 0) return
    const short = signals.map((signal) =>
      signal.ids && signal.ids.length > mostIds ? { kind: signal.kind, type: signal.type } : signal,
    )
    try {
      if (fstatSync(this.#file).size > longestBytes) ftruncateSync(this.#file)
      writeSync(this.#file, `${JSON.stringify({ by: this.#options.instance, signals: short })}\n`)
    } catch {
      // The disk may be full. What was committed stands, and the polls will find it.
    }
  }

  /** Once this returns, every later line is heard. */
  listen(): void {
    if (this.#watcher || this.#timer) return
    this.#readTo = fstatSync(this.#file).size
    this.#rest = ''
    try {
      this.#watcher = watch(this.#options.path, () => this.#read())
      this.#watcher.on('error', () => this.#poll())
    } catch {
      this.#poll()
    }
  }

  unlisten(): void {
    this.#watcher?.close()
    this.#watcher = undefined
    this.#timer?.cancel()
    this.#timer = undefined
  }

  close(): void {
    this.unlisten()
    closeSync(this.#file)
  }

  #poll(): void {
    this.#watcher?.close()
    this.#watcher = undefined
    this.#timer = this.#options.clock.after(pollMs, () => {
      this.#read()
      this.#poll()
    })
  }

  #read(): void {
    try {
      const { size } = fstatSync(this.#file)
      if (size < this.#readTo) {
        this.#readTo = 0
        this.#rest = ''
        this.#options.onGap()
      }
      if (size === this.#readTo) return
      const bytes = Buffer.alloc(size - this.#readTo)
      this.#readTo += readSync(this.#file, bytes, 0, bytes.length, this.#readTo)
      const lines = (this.#rest + bytes.toString()).split('\n')
      this.#rest = lines.pop()!
      for (const line of lines) this.#heed(line)
    } catch {
      this.#options.onGap()
    }
  }

  #heed(line: string): void {
    try {
      const { by, signals } = JSON.parse(line) as { by: string; signals: Signal[] }
      if (by !== this.#options.instance) for (const signal of signals) this.#options.onSignal(signal)
    } catch {
      // Not a line of ours, or half of one: look.
      this.#options.onGap()
    }
  }
}

/** The file was deleted and made anew, as with its database: nobody would hear of it. */
export function isSameFile(path: string, file: number): boolean {
  try {
    return statSync(path).ino === fstatSync(file).ino
  } catch {
    return false
  }
}
