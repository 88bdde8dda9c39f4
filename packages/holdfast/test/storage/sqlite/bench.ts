// The setup of the SQLite tests: a temporary directory, storages in it, and other processes on it.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { programOf } from '../../../../../scripts/test-programs.ts'
import type { ClaimedJob, NewJob, Outcome, Retention } from 'holdfast/storage'
import { SqliteStorage, type SqliteStorageOptions } from 'holdfast/sqlite'
import { defaultType } from '../../../src/storage/stored-type.ts'

export interface Bench {
  readonly directory: string
  readonly path: string
  /** Opens a storage on the file of this test, connected until the test ends. */
  open(options?: Partial<SqliteStorageOptions>): Promise<SqliteStorage>
  /** Opens a plain connection. */
  look(): DatabaseSync
  /** Starts a process that runs a scene of process.ts. */
  spawn(scene: string, ...args: string[]): Child
}

export function bench(t: TestContext): Bench {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-sqlite-'))
  const path = join(directory, 'jobs.db')
  const ends: (() => unknown)[] = []
  t.after(async () => {
    for (const end of ends.toReversed()) await end()
    rmSync(directory, { recursive: true, force: true })
  })
  return {
    directory,
    path,
    open: async (options) => {
      const storage = new SqliteStorage({ path, ...options })
      await storage.connect()
      ends.push(() => storage.disconnect())
      return storage
    },
    look: () => {
      const db = new DatabaseSync(path, { timeout: 5_000 })
      ends.push(() => db.isOpen && db.close())
      return db
    },
    spawn: (scene, ...args) => {
      const child = new Child(scene, [path, ...args])
      ends.push(() => child.kill())
      return child
    },
  }
}

const script = programOf(new URL('./process.ts', import.meta.url))

/** Another process. It prints what it does as lines of JSON, and reads its commands as lines. */
export class Child {
  readonly #process: ChildProcess
  readonly #lines: unknown[] = []
  readonly #waiting: PromiseWithResolvers<unknown>[] = []
  readonly ended: Promise<number | null>
  errors = ''

  constructor(scene: string, args: readonly string[]) {
    this.#process = spawn(process.execPath, ['--conditions=@holdfast/source', script, scene, ...args])
    const { promise, resolve } = Promise.withResolvers<number | null>()
    this.ended = promise
    this.#process.stderr!.on('data', (chunk) => (this.errors += String(chunk)))
    const lines = createInterface(this.#process.stdout!)
    lines.on('line', (line) => {
      const value: unknown = JSON.parse(line)
      const waiting = this.#waiting.shift()
      if (waiting) waiting.resolve(value)
      else this.#lines.push(value)
    })
    this.#process.on('close', (code) => {
      for (const { reject } of this.#waiting) reject(new Error(`it ended with ${code}: ${this.errors}`))
      resolve(code)
    })
  }

  get pid(): number {
    return this.#process.pid!
  }

  /** The next line that it prints. */
  async next<T = unknown>(): Promise<T> {
    if (this.#lines.length > 0) return this.#lines.shift() as T
    const waiting = Promise.withResolvers<unknown>()
    this.#waiting.push(waiting)
    return waiting.promise as Promise<T>
  }

  /** All lines that were printed and not read. */
  get said(): readonly unknown[] {
    return this.#lines
  }

  send(line = 'go'): void {
    this.#process.stdin!.write(`${line}\n`)
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.ended
  }
}

const kept: Retention = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }

export const newJob = (id: string, fields: Partial<NewJob> = {}): NewJob => ({
  type: defaultType,
  id,
  token: `token of ${id}`,
  retention: kept,
  ...fields,
})

export const types = [{ type: defaultType, leaseMs: 60_000 }]

export const completed = ({ type, id, worker, attempt }: ClaimedJob): Outcome => ({
  type,
  id,
  worker,
  attempt,
  kind: 'completed',
})
