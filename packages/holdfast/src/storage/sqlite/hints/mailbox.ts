// The mailbox of a process that listens: a file of lines that others append to, and its owner watches, reads and empties.

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

/** A mailbox of this length is emptied by its owner. */
export const fullBytes = 64 * 1_024
/** Where files cannot be watched. */
const pollMs = 250

/** Says whose it is, so that others can clean up behind one that was killed. */
export const mailboxName = (instance: string): string =>
  [instance, process.pid, startOf(process.pid), machine()].join('~')

const parts = /~(?<pid>\d+)~(?<start>\d*)~(?<host>.*)$/

export const isMailbox = (name: string): boolean => parts.test(name)

/** True if its owner was on this machine, and has ended. */
export function isAbandoned(name: string): boolean {
  const { pid, start, host } = parts.exec(name)!.groups!
  if (host !== machine()) return false
  if (!exists(Number(pid))) return true
  const present = startOf(Number(pid))
  return start !== '' && present !== '' && start !== present
}

/** Where its process number means something: containers may share a host's name, and the database. */
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

/** Tells a process from an earlier one of the same number. Empty where the system does not say. */
function startOf(pid: number): string {
  try {
    // After its name, in parentheses, that may hold anything: the 20th field of the rest.
    return readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)!.split(' ')[19]!
  } catch {
    return ''
  }
}

/** The last one only: where there is no database, there are no hints. */
function makeDirectory(path: string): void {
  try {
    mkdirSync(path)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
  }
}

export interface MailboxOptions {
  readonly path: string
  readonly clock: Clock
  onSignal(signal: Signal): void
  /** Something may have been missed. */
  onGap(): void
  onDeleted(): void
}

export class Mailbox {
  readonly #options: MailboxOptions
  readonly #file: number
  #watcher: FSWatcher | undefined
  #timer: Timer | undefined
  #readTo = 0

  constructor(options: MailboxOptions) {
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

  /** Whole ones: the rest of one may be on its way. */
  #readLines(size: number): void {
    const bytes = Buffer.alloc(size - this.#readTo)
    const length = readSync(this.#file, bytes, 0, bytes.length, this.#readTo)
    const end = bytes.subarray(0, length).lastIndexOf('\n') + 1
    this.#readTo += end
    for (const line of bytes.toString('utf8', 0, end).split('\n')) if (line !== '') this.#heed(line)
  }

  /** A line that comes just now goes with the others. */
  #empty(): void {
    ftruncateSync(this.#file)
    this.#readTo = 0
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
