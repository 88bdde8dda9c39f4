// Hints between the processes that share a database. Each one that listens has a mailbox, a file in a directory beside the
// database, and watches it; whoever commits appends a line to the mailboxes of the others. A hint may be lost: the polls
// underneath find what it was about. Who begins to listen writes to the database: only when others are seen to have
// written does a sender look for new mailboxes, so where nobody else is, hints cost nothing.

import { closeSync, constants, fstatSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock, Timer } from '../../../clock.ts'
import type { Signal } from '../../storage.ts'
import { fullBytes, isAbandoned, isMailbox, Mailbox, mailboxName } from './mailbox.ts'

/** Longer than this, nobody empties it. An owner that was only held up makes itself a new one. */
const abandonedBytes = 10 * fullBytes
/** More ids than this say as much as none: look. */
const mostIds = 200
/** Changes of a directory within the grain of its clock look like one. */
const grainMs = 1_000
/** Before each try to have another mailbox. */
const retryMs = 1_000

export interface HintsOptions {
  readonly directory: string
  readonly instance: string
  readonly clock: Clock
  onSignal(signal: Signal): void
  /** Something may have been missed. */
  onGap(): void
  /** Our mailbox was deleted, and there is a new one: others must look for it. */
  onMoved(): void
}

export class Hints {
  readonly #options: HintsOptions
  readonly #name: string
  readonly #others = new Map<string, number>()
  #seenAt = -1
  #changedAt = -1
  #mailbox: Mailbox | undefined
  #retry: Timer | undefined

  constructor(options: HintsOptions) {
    this.#options = options
    this.#name = mailboxName(options.instance)
  }

  /** @param others how often others were seen to have written */
  send(signals: readonly Signal[], others: number): void {
    if (signals.length === 0) return
    try {
      if (others !== this.#seenAt) this.#findOthers()
      this.#seenAt = others
      if (this.#others.size === 0) return
      const line = Buffer.from(`${JSON.stringify(signals.map(shortened))}\n`)
      for (const [name, file] of this.#others) this.#post(name, file, line)
    } catch {
      // The disk may be full, or the directory gone. What was committed stands, and the polls will find it.
      this.#lookAgain()
    }
  }

  #post(name: string, file: number, line: Buffer): void {
    writeSync(file, line)
    const { size, nlink } = fstatSync(file)
    if (nlink > 0 && size <= abandonedBytes) return
    if (nlink > 0) rmSync(join(this.#options.directory, name), { force: true })
    this.#others.delete(name)
    closeSync(file)
    this.#lookAgain()
  }

  #lookAgain(): void {
    this.#seenAt = -1
    this.#changedAt = -1
  }

  /** Once others have seen this process write, every later line is heard. */
  listen(): void {
    this.#mailbox ??= new Mailbox({
      ...this.#options,
      path: join(this.#options.directory, this.#name),
      onDeleted: () => this.#replace(),
    })
  }

  unlisten(): void {
    this.#retry?.cancel()
    this.#retry = undefined
    this.#mailbox?.close()
    this.#mailbox = undefined
  }

  close(): void {
    this.unlisten()
    this.#forgetOthers()
  }

  /** Another mailbox in place of the one that was deleted. Not at once: somebody may be deleting all there is. */
  #replace(): void {
    this.unlisten()
    this.#retry = this.#options.clock.after(
      retryMs,
      () => {
        try {
          this.listen()
          this.#options.onMoved()
        } catch {
          this.#replace()
        }
      },
      { keepsAlive: false },
    )
  }

  /** Who comes or goes changes the directory. */
  #findOthers(): void {
    const { directory, clock } = this.#options
    const mtimeMs = statSync(directory, { throwIfNoEntry: false })?.mtimeMs
    if (mtimeMs !== undefined && mtimeMs === this.#changedAt) return
    this.#forgetOthers()
    if (mtimeMs === undefined) return
    for (const name of readdirSync(directory)) if (name !== this.#name && isMailbox(name)) this.#open(name)
    this.#changedAt = clock.now() - mtimeMs > grainMs ? mtimeMs : -1
  }

  #open(name: string): void {
    const path = join(this.#options.directory, name)
    if (isAbandoned(name)) return rmSync(path, { force: true })
    try {
      // Not made if it is not there: its owner has just gone.
      this.#others.set(name, openSync(path, constants.O_WRONLY | constants.O_APPEND))
    } catch (error) {
      if ((error as { code?: string }).code !== 'ENOENT') throw error
    }
  }

  #forgetOthers(): void {
    for (const file of this.#others.values()) closeSync(file)
    this.#others.clear()
  }
}

const shortened = (signal: Signal): Signal =>
  signal.ids && signal.ids.length > mostIds ? { kind: signal.kind, type: signal.type } : signal
