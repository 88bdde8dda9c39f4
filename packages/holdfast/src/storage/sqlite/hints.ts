// Hints between the processes that share a database. Each one that listens has a mailbox, a file in a directory beside the
// database, and watches it; whoever commits appends a line to the mailboxes of the others. A hint may be lost: the polls
// underneath find what it was about. Who begins to listen writes to the database: only when others are seen to have
// written does a sender look for new mailboxes, so where nobody else is, hints cost nothing.

import {
  closeSync,
  fstatSync,
  ftruncateSync,
  type FSWatcher,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  watch,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Clock, Timer } from '../../clock.ts'
import type { Signal } from '../storage.ts'

/** A mailbox of this length is emptied by its owner; ten times that, and it has none. */
const fullBytes = 64 * 1_024
const abandonedBytes = 10 * fullBytes
/** More ids than this say as much as none: look. */
const mostIds = 200
/** Where files cannot be watched. */
const pollMs = 250

export interface HintsOptions {
  readonly directory: string
  /** The name of our own mailbox. */
  readonly instance: string
  readonly clock: Clock
  onSignal(signal: Signal): void
  /** Something may have been missed. */
  onGap(): void
}

export class Hints {
  readonly #options: HintsOptions
  readonly #others = new Map<string, number>()
  #seenAt = -1
  #changedAt = -1
  #mailbox: Mailbox | undefined

  constructor(options: HintsOptions) {
    this.#options = options
    mkdirSync(options.directory, { recursive: true })
  }

  /** @param others how often others were seen to have written */
  send(signals: readonly Signal[], others: number): void {
    if (signals.length === 0) return
    try {
      if (others !== this.#seenAt) this.#findOthers()
      this.#seenAt = others
      if (this.#others.size === 0) return
      const line = Buffer.from(`${JSON.stringify(signals.map(shortened))}\n`)
      for (const [name, file] of this.#others) {
        writeSync(file, line)
        if (fstatSync(file).size > abandonedBytes) rmSync(join(this.#options.directory, name), { force: true })
      }
    } catch {
      // The disk may be full, or the directory gone. What was committed stands, and the polls will find it.
      this.#seenAt = -1
      this.#changedAt = -1
    }
  }

  /** Once others have seen this process write, every later line is heard. */
  listen(): void {
    this.#mailbox ??= new Mailbox(this.#options)
  }

  unlisten(): void {
    this.#mailbox?.close()
    this.#mailbox = undefined
  }

  close(): void {
    this.unlisten()
    this.#forgetOthers()
  }

  /** Who comes or goes changes the directory. */
  #findOthers(): void {
    const { directory, instance } = this.#options
    const { mtimeMs } = statSync(directory)
    // Two changes within the grain of its clock look like one.
    if (mtimeMs === this.#changedAt && this.#options.clock.now() - mtimeMs > 1_000) return
    this.#forgetOthers()
    for (const name of readdirSync(directory)) {
      if (name !== instance) this.#others.set(name, openSync(join(directory, name), 'a'))
    }
    this.#changedAt = mtimeMs
  }

  #forgetOthers(): void {
    for (const file of this.#others.values()) closeSync(file)
    this.#others.clear()
  }
}

const shortened = (signal: Signal): Signal =>
  signal.ids && signal.ids.length > mostIds ? { kind: signal.kind, type: signal.type } : signal

class Mailbox {
  readonly #options: HintsOptions
  readonly #path: string
  readonly #file: number
  #watcher: FSWatcher | undefined
  #timer: Timer | undefined
  #readTo = 0
  #rest = ''

  constructor(options: HintsOptions) {
    this.#options = options
    this.#path = join(options.directory, options.instance)
    this.#file = openSync(this.#path, 'w+')
    try {
      this.#watcher = watch(this.#path, () => this.#read())
      this.#watcher.on('error', () => this.#poll())
    } catch {
      this.#poll()
    }
  }

  close(): void {
    this.#watcher?.close()
    this.#timer?.cancel()
    closeSync(this.#file)
    rmSync(this.#path, { force: true })
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
    const { size } = fstatSync(this.#file)
    if (size <= this.#readTo) return
    const bytes = Buffer.alloc(size - this.#readTo)
    this.#readTo += readSync(this.#file, bytes, 0, bytes.length, this.#readTo)
    const lines = (this.#rest + bytes.toString()).split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) this.#heed(line)
    if (this.#readTo > fullBytes) this.#empty()
  }

  /** A line that comes just now goes with the others. */
  #empty(): void {
    ftruncateSync(this.#file)
    this.#readTo = 0
    this.#rest = ''
    this.#options.onGap()
  }

  #heed(line: string): void {
    try {
      for (const signal of JSON.parse(line) as Signal[]) this.#options.onSignal(signal)
    } catch {
      // Not a line of ours, or half of one.
      this.#options.onGap()
    }
  }
}
