// Runs commands in this process: a host that keeps what they write, and a storage with jobs in every state.

import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Queue, type Storage } from 'holdfast'
import { PostgresStorage } from 'holdfast/postgres'
import { RedisStorage } from 'holdfast/redis'
import { SqliteStorage } from 'holdfast/sqlite'
import { systemClock } from '../../src/clock.ts'
import type { Host } from '../../src/cli/host.ts'
import { run } from '../../src/cli/run.ts'
import { quickFolder } from '../drivers.ts'
import { newSchema, postgresPlace } from '../postgres-subject.ts'
import { until } from '../queue/driver.ts'
import { placeOf } from '../redis-places.ts'

export interface Ran {
  readonly code: number
  readonly out: string
  readonly errors: string
}

export interface Running {
  readonly ended: Promise<Ran>
  /** As far as it is written. */
  out(): string
  interrupt(): void
}

/** What a test sets of the host. */
export interface Settings {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly size?: { readonly columns: number; readonly rows: number } | (() => ReturnType<Host['size']>)
  readonly onResize?: Host['onResize']
  readonly input?: string
  /** The answer of the operator. Absent: there is no terminal. */
  readonly answer?: string
  readonly keys?: Host['keys']
}

export function start(args: readonly string[], settings: Settings = {}): Running {
  const { cwd = quickFolder, env = {}, size, input = '', answer, keys, onResize = () => () => {} } = settings
  let [out, errors] = ['', '']
  const interruption = new AbortController()
  const host: Host = {
    clock: systemClock,
    env,
    cwd,
    size: typeof size === 'function' ? size : () => size,
    write: (text) => void (out += text),
    writeError: (text) => void (errors += text),
    readInput: async () => input,
    ask:
      answer === undefined
        ? undefined
        : async (question) => {
            errors += question
            return answer
          },
    interruption: () => interruption.signal,
    keys,
    onResize,
    onCrash: () => () => {},
    user: () => 'ada',
  }
  const ended = run(args, host).then((code) => ({ code, out, errors }))
  return { ended, out: () => out, interrupt: () => interruption.abort() }
}

export const cli = (args: readonly string[], settings?: Settings): Promise<Ran> => start(args, settings).ended

export interface Place {
  readonly storage: Storage
  /** The options that name the storage. */
  readonly at: readonly string[]
  /** Working directory, in which `sqlite:./jobs.db` is the storage, if it is one of SQLite. */
  readonly folder: string
  /** TypeScript that makes the storage as `storage`, for a configuration. */
  readonly code: string
  /** Runs a command on it. */
  holdfast(args: readonly string[], settings?: Settings): Promise<Ran>
}

async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(quickFolder, 'holdfast-cli-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const drivers = {
  async sqlite(t: TestContext) {
    const folder = await newFolder(t)
    const options = { path: join(folder, 'jobs.db'), durability: 'relaxed' } as const
    return {
      storage: new SqliteStorage(options),
      folder,
      at: ['--url', 'sqlite:./jobs.db'],
      code: codeOf('SqliteStorage', 'sqlite', options),
    }
  },
  async redis(t: TestContext) {
    const { options } = await (await placeOf('redis')).way()
    const prefix = `cli-${++prefixes}`
    return {
      storage: new RedisStorage({ ...options, prefix }),
      folder: await newFolder(t),
      at: ['--url', options.url!, '--prefix', prefix],
      code: codeOf('RedisStorage', 'redis', { url: options.url, prefix }),
    }
  },
  async postgres(t: TestContext) {
    const [{ server }, schema] = [await postgresPlace(), newSchema()]
    return {
      storage: new PostgresStorage({ url: server.url, schema }),
      folder: await newFolder(t),
      at: ['--url', server.url, '--schema', schema],
      code: codeOf('PostgresStorage', 'postgres', { url: server.url, schema }),
    }
  },
} satisfies Readonly<Record<string, (t: TestContext) => Promise<Omit<Place, 'holdfast'>>>>

export type DriverName = keyof typeof drivers

const codeOf = (name: string, module: string, options: object): string =>
  `import { ${name} } from 'holdfast/${module}'\nconst storage = new ${name}(${JSON.stringify(options)})\n`

let prefixes = 0

/** An error, an id and a log line with characters that a terminal acts on. */
export const hostile = 'a\x1b[31mred\x07\r\u202egnp.exe\x9b2J'

/**
 * A storage with jobs of queue `mail`: m1 failed, m2 waits, m3 completed; a job with a hostile id that failed; and a schedule of
 * queue `report`. A worker of `mail` is alive until the end of the test.
 */
export async function placeWith(t: TestContext, driver: DriverName): Promise<Place> {
  const { storage, at, folder, code } = await drivers[driver](t)
  await storage.connect()
  const mail = new Queue<unknown, unknown>({ storage, name: 'mail', maxAttempts: 1, workerId: 'post-office' })
  mail.execute((job) => {
    job.log(`to ${String(job.payload)}`, { hostile })
    if (job.payload === 'nobody') throw new Error(hostile)
    return { sent: job.payload }
  })
  const report = new Queue<string>({ storage, name: 'report', release: 3, schedules: { nightly: nightlyOf() } })
  t.after(async () => {
    await Promise.all([mail.stop({ graceMs: 0 }), report.stop({ graceMs: 0 })])
    await storage.disconnect()
  })
  await mail.enqueue('m2', 'grace', { delayMs: 3_600_000, priority: 7, group: 'tenant-7' })
  await mail.start()
  await report.start()
  await mail.enqueueAndWait('m1', 'nobody').catch(() => {})
  await mail.enqueueAndWait(hostile, 'nobody').catch(() => {})
  await mail.enqueueAndWait('m3', 'ada')
  await until(async () => (await mail.workers()).length === 1)
  const holdfast = (args: readonly string[], settings?: Settings): Promise<Ran> =>
    cli([...args, ...at], { cwd: folder, ...settings })
  return { storage, at, folder, code, holdfast }
}

/** Once a year, so that no slot comes while a test runs. */
const nightlyOf = () => ({ payload: 'all', everyMs: 365 * 86_400_000, catchUp: 'skip' as const })
