// The inbox of a process that listens: a file that other processes append lines to. Its owner watches, reads and empties it.

import {
  closeSync,
  fstatSync,
  ftruncateSync,
  type FSWatcher,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  rmSync,
  watch,
} from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import type { Clock, Timer } from '../../../clock.ts'
import type { Signal } from '../../storage.ts'

/** Length in bytes above which the owner empties its inbox. */
export const fullBytes = 64 * 1_024
/** Poll interval in ms where files cannot be watched. */
const pollMs = 250

/** The name of an inbox identifies its process, so that others can remove the inbox of a process that was killed. */
export const inboxName = (instance: string): string =>
  [instance, process.pid, startOf(process.pid), machine()].join('~')

const parts = /~(?<pid>\d+)~(?<start>\d*)~(?<host>.*)$/

export const isInbox = (name: string): boolean => parts.test(name)

/** True if its owner was on this machine and has ended. */
export function isAbandoned(name: string): boolean {
  const { pid, start, host } = parts.exec(name)!.groups!
  if (host !== machine()) return false
  if (!exists(Number(pid))) return true
  const present = startOf(Number(pid))
  return start !== '' && present !== '' && start !== present
}

/** The scope of a process id: containers may share a host name, and the database. */
function machine(): string {
  let namespace = ''
  try {
    namespace = readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '')
  } catch {
    // Not on Linux.
  }
  return `${hostname()}~${namespace}`
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as { code?: string }).code !== 'ESRCH'
  }
}

/** The start time of a process, which tells it from an earlier one with the same id. Empty where the system has none. */
function startOf(pid: number): string {
  try {
    // The name is in parentheses and may contain anything. The start time is the 20th field after it.
    return readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)!.split(' ')[19]!
  } catch {
    return ''
  }
}

/** Creates the directory, but not its parent: without a database there are no hints. */
function makeDirectory(path: string): void {
  try {
    mkdirSync(path)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
  }
}

export interface InboxOptions {
  readonly path: string
  readonly clock: Clock
  onSignal(signal: Signal): void
  /** Hints may have been lost. */
  onGap(): void
  onDeleted(): void
}

export class Inbox {
  readonly #options: InboxOptions
  readonly #file: number
  #watcher: FSWatcher | undefined
  #timer: Timer | undefined
  #readTo = 0

  constructor(options: InboxOptions) {
    this.#options = options
    const { path } = options
    makeDirectory(dirname(path))
    this.#file = openSync(path, 'w+')
    try {
      this.#watcher = watch(path, () => this.#read())
      this.#watcher.on('error', () => this.#poll())
    } catch {
      this.#poll()
    }
  }

  close(): void {
    this.#watcher?.close()
    this.#timer?.cancel()
    closeSync(this.#file)
    rmSync(this.#options.path, { force: true })
  }

  #poll(): void {
    this.#watcher?.close()
    this.#watcher = undefined
    this.#timer = this.#options.clock.after(pollMs, () => {
      this.#poll()
      this.#read()
    })
  }

  #read(): void {
    const { size, nlink } = fstatSync(this.#file)
    if (size > this.#readTo) this.#readLines(size)
    if (nlink === 0) this.#options.onDeleted()
    else if (this.#readTo > fullBytes) this.#empty()
  }

  /** Reads complete lines. The rest of the last one may be on its way. */
  #readLines(size: number): void {
    const bytes = Buffer.alloc(size - this.#readTo)
    const length = readSync(this.#file, bytes, 0, bytes.length, this.#readTo)
    const end = bytes.subarray(0, length).lastIndexOf('\n') + 1
    this.#readTo += end
    for (const line of bytes.toString('utf8', 0, end).split('\n')) if (line !== '') this.#receive(line)
  }

  /** A line that is appended at this moment is lost with the others: hence the gap. */
  #empty(): void {
    ftruncateSync(this.#file)
    this.#readTo = 0
    this.#options.onGap()
  }

  #receive(line: string): void {
    try {
      for (const signal of JSON.parse(line) as Signal[]) this.#options.onSignal(signal)
    } catch {
      // Half a line, or a line of another program.
      this.#options.onGap()
    }
  }
}
