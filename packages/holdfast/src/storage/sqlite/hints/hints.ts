// Hints between the processes that share a database. A process that listens has an inbox: a file in a directory beside the
// database, which it watches. A process that commits appends a line to the inboxes of the others. A hint may be lost: the
// fallback poll finds what it was about. A process that starts to listen writes to the database. A sender looks for new
// inboxes only after it noticed a foreign commit, so hints cost nothing where a process is alone.

import { closeSync, constants, fstatSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock, Timer } from '../../../clock.ts'
import type { Signal } from '../../storage.ts'
import { fullBytes, Inbox, inboxName, isAbandoned, isInbox } from './inbox.ts'

/** Length in bytes above which an inbox counts as abandoned. An owner that was only blocked creates a new one. */
const abandonedBytes = 10 * fullBytes
/** Ids that a hint carries, at most. Without ids it says: look. */
const mostIds = 200
/** Resolution of a directory's mtime, in ms: two changes within it look like one. */
const mtimeResolutionMs = 1_000
/** Delay in ms before an inbox is created again. */
const retryMs = 1_000

export interface HintsOptions {
  readonly directory: string
  readonly instance: string
  readonly clock: Clock
  onSignal(signal: Signal): void
  /** Hints may have been lost. */
  onGap(): void
  /** The inbox was deleted and there is a new one, which other processes must find. */
  onMoved(): void
}

export class Hints {
  readonly #options: HintsOptions
  readonly #name: string
  /** Open files of the other inboxes, by name. */
  readonly #others = new Map<string, number>()
  /** Foreign commits at the last look for inboxes. */
  #lookedAt = -1
  /** Mtime of the directory at the last look. */
  #directoryMtimeMs = -1
  #inbox: Inbox | undefined
  #retry: Timer | undefined

  constructor(options: HintsOptions) {
    this.#options = options
    this.#name = inboxName(options.instance)
  }

  /** @param foreignCommits number of times that commits of other connections were noticed */
  send(signals: readonly Signal[], foreignCommits: number): void {
    if (signals.length === 0) return
    try {
      if (foreignCommits !== this.#lookedAt) this.#findOthers()
      this.#lookedAt = foreignCommits
      if (this.#others.size === 0) return
      const line = Buffer.from(`${JSON.stringify(signals.map(shortened))}\n`)
      for (const [name, file] of this.#others) this.#append(name, file, line)
    } catch {
      // The disk may be full, or the directory deleted. The commit stands, and the fallback poll finds it.
      this.#lookAgain()
    }
  }

  #append(name: string, file: number, line: Buffer): void {
    writeSync(file, line)
    const { size, nlink } = fstatSync(file)
    if (nlink > 0 && size <= abandonedBytes) return
    if (nlink > 0) rmSync(join(this.#options.directory, name), { force: true })
    this.#others.delete(name)
    closeSync(file)
    this.#lookAgain()
  }

  #lookAgain(): void {
    this.#lookedAt = -1
    this.#directoryMtimeMs = -1
  }

  /** Opens the inbox. Once other processes have noticed a commit of this one, every later hint arrives. */
  listen(): void {
    this.#inbox ??= new Inbox({
      ...this.#options,
      path: join(this.#options.directory, this.#name),
      onDeleted: () => this.#replace(),
    })
  }

  unlisten(): void {
    this.#retry?.cancel()
    this.#retry = undefined
    this.#inbox?.close()
    this.#inbox = undefined
  }

  close(): void {
    this.unlisten()
    this.#forgetOthers()
  }

  /** Creates the inbox again after it was deleted. Later, because the whole directory may be about to be deleted. */
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

  /** An inbox that is created or deleted changes the mtime of the directory. */
  #findOthers(): void {
    const { directory, clock } = this.#options
    const mtimeMs = statSync(directory, { throwIfNoEntry: false })?.mtimeMs
    if (mtimeMs !== undefined && mtimeMs === this.#directoryMtimeMs) return
    this.#forgetOthers()
    if (mtimeMs === undefined) return
    for (const name of readdirSync(directory)) if (name !== this.#name && isInbox(name)) this.#open(name)
    this.#directoryMtimeMs = clock.now() - mtimeMs > mtimeResolutionMs ? mtimeMs : -1
  }

  #open(name: string): void {
    const path = join(this.#options.directory, name)
    if (isAbandoned(name)) return rmSync(path, { force: true })
    try {
      // Without O_CREAT: if it is gone, its owner has just ended.
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
