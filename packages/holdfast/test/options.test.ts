import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { MemoryStorage, Queue } from 'holdfast'
import { PostgresStorage } from 'holdfast/postgres'
import { RedisStorage } from 'holdfast/redis'
import { renderPage } from '../../../scripts/option-table/render.ts'
import {
  clientOptions,
  deduplicationOptions,
  leaseOptions,
  listOptions,
  retryOptions,
  waitForChainOptions,
  workerStopOptions,
} from '../src/chains/options.ts'
import { checkText } from '../src/option-checks.ts'
import { engineDefaults } from '../src/engine/defaults.ts'
import { deduplicationByMode as byMode } from '../src/engine/job/deduplication.ts'
import { sharedJobOptions } from '../src/engine/job/job-options.ts'
import { rateLimitedOptions } from '../src/engine/job/directives.ts'
import { readLimitsOptions } from '../src/engine/limits/limits-calls.ts'
import {
  groupLimitsOptions,
  limitsOptions,
  rateOptions,
  setLimitsOptions,
} from '../src/engine/limits/limits-options.ts'
import { exponentialBackoff, groupOptions, leaderOptions } from '../src/engine/options.ts'
import { bulkOptions, redriveOptions } from '../src/engine/operate/bulk.ts'
import { cancelOptions, operatorCancelOptions } from '../src/engine/operate/cancel.ts'
import { rescheduleOptions, runNowOptions } from '../src/engine/operate/reschedule.ts'
import { filterOptions, queryOptions } from '../src/engine/operate/job-filter.ts'
import { adminOptions } from '../src/admin/options.ts'
import { configOptions } from '../src/cli/config.ts'
import {
  drainOptions,
  enqueueManyOptions,
  enqueueOptions,
  jobOptions,
  logOptions,
  pauseOptions,
  queueOptions,
  reaperOptions,
  waitOptions,
} from '../src/queue/options.ts'
import { resolveOptions, type Row, type Table } from '../src/resolve-options.ts'
import { memoryOptions, redisOptions } from '../src/storage/options.ts'
import { resolveQueueConfig } from '../src/queue/queue-config.ts'

const src = new URL('../src/', import.meta.url)
const read = (path: string): Promise<string> => readFile(new URL(path, src), 'utf8')

/** Each table of an options.ts with the type that documents it: its file and name, and the options that it inherits. */
const defaultOf = (row: Row): unknown => ('default' in row ? row.default : undefined)

const { strategy } = deduplicationOptions
const startOptionsFile = 'chains/types/start-options.ts'

const tables: readonly [table: Table, file: string, type: string, inherited?: Table][] = [
  [queueOptions, 'queue/queue-config.ts', 'QueueConfig'],
  [memoryOptions, 'storage/memory/memory-storage.ts', 'MemoryStorageOptions'],
  [redisOptions, 'storage/redis/redis-options.ts', 'RedisStorageOptions'],
  [sharedJobOptions, 'engine/job/job-options.ts', 'SharedJobOptions'],
  [jobOptions, 'queue/enqueue.ts', 'JobOptions', sharedJobOptions],
  [enqueueOptions, 'queue/enqueue.ts', 'EnqueueOptions', jobOptions],
  [waitOptions, 'queue/enqueue.ts', 'EnqueueAndWaitOptions', jobOptions],
  [enqueueManyOptions, 'queue/enqueue-many.ts', 'EnqueueManyOptions'],
  [cancelOptions, 'engine/operate/cancel.ts', 'CancelOptions', operatorCancelOptions],
  [rescheduleOptions, 'engine/operate/reschedule.ts', 'RescheduleOptions', runNowOptions],
  [runNowOptions, 'engine/operate/reschedule.ts', 'RunNowOptions'],
  [logOptions, 'engine/job/log-lines.ts', 'LogOptions'],
  [groupOptions, 'engine/job/job-options.ts', 'GroupOptions'],
  [limitsOptions, 'engine/limits/limits-options.ts', 'LimitsOptions'],
  [groupLimitsOptions, 'engine/limits/limits-options.ts', 'GroupLimitsOptions'],
  [rateOptions, 'engine/limits/limits-options.ts', 'RateOptions'],
  [setLimitsOptions, 'engine/limits/limits-options.ts', 'SetLimitsOptions'],
  [readLimitsOptions, 'engine/limits/limits-calls.ts', 'ReadLimitsOptions'],
  [rateLimitedOptions, 'engine/job/directives.ts', 'RateLimitedOptions'],
  [reaperOptions, 'queue/reaper.ts', 'ReaperConfig'],
  [leaderOptions, 'queue/reaper.ts', 'LeaderElection'],
  [adminOptions, 'admin/admin.ts', 'AdminOptions'],
  [configOptions, 'cli/config.ts', 'HoldfastConfig'],
  [filterOptions, 'engine/operate/job-filter.ts', 'JobFilter'],
  [queryOptions, 'engine/operate/job-filter.ts', 'JobQuery', filterOptions],
  [bulkOptions, 'engine/operate/bulk-action.ts', 'BulkOptions'],
  [redriveOptions, 'engine/operate/bulk.ts', 'RedriveOptions', bulkOptions],
  [pauseOptions, 'queue/operating.ts', 'QueuePauseOptions'],
  [drainOptions, 'queue/operating.ts', 'DrainWaitingOptions', bulkOptions],
  [operatorCancelOptions, 'engine/operate/cancel.ts', 'OperatorCancelOptions'],
  [clientOptions, 'chains/types/client.ts', 'ClientOptions'],
  [waitForChainOptions, 'chains/types/client.ts', 'WaitOptions'],
  [listOptions, 'chains/types/client.ts', 'ListOptions'],
  [byMode.simple, 'engine/job/deduplication.ts', 'OnceDeduplication'],
  [byMode.debounce, 'engine/job/deduplication.ts', 'DebounceDeduplication'],
  [byMode.followUp, 'engine/job/deduplication.ts', 'FollowUpDeduplication'],
  [byMode.ascending, 'engine/job/deduplication.ts', 'AscendingDeduplication'],
  [{ ...byMode.simple, ...byMode.followUp, strategy }, startOptionsFile, 'ChainDeduplicationStrategy'],
  [retryOptions, 'chains/types/worker.ts', 'RetryConfig'],
  [leaseOptions, 'chains/types/worker.ts', 'LeaseConfig'],
  [workerStopOptions, 'chains/types/worker.ts', 'StopOptions'],
]

for (const [whole, file, type, inherited = {}] of tables) {
  test(`[trap 51] ${type}: the same options as in options.ts, and in its TSDoc the same defaults`, async () => {
    const table = Object.entries(whole).filter(([key]) => !(key in inherited))
    const written = fieldsOf(await read(file), type)
    assert.deepEqual([...written.keys()].toSorted(), table.map(([key]) => key).toSorted())
    for (const [key, option] of table) {
      // LeaderElection requires `enabled`: its default is for the absence of the whole record.
      if (whole === leaderOptions && key === 'enabled') continue
      const said = written.get(key)
      if (defaultOf(option) === undefined) {
        assert.ok(said === undefined || valueOf(said) === undefined, `${key} has no default, its TSDoc says ${said}`)
      } else {
        assert.ok(said, `the TSDoc of ${key} has no @default`)
        assert.deepEqual(valueOf(said), defaultOf(option), key)
      }
    }
  })
}

test('[trap 51] the defaults in the TSDoc of Backoff are those of exponentialBackoff', async () => {
  const text = await read('engine/job/backoff.ts')
  const { type: _, ...table } = exponentialBackoff
  const written = new Map(
    [...text.matchAll(/@default (\S+) \*\/\s+readonly (\w+)\?/g)].map(([, said, key]) => [key, said]),
  )
  assert.deepEqual([...written.keys()], Object.keys(table))
  for (const [key, option] of Object.entries(table)) assert.equal(valueOf(written.get(key)!), option.default, key)
})

test('[trap 51] each option is read by code', async () => {
  const exclude = ['storage/storage.ts', 'testing/**', '**/options.ts']
  const codeWithout = async (...more: string[]): Promise<string> => {
    const files = globSync('**/*.ts', { cwd: src, exclude: [...exclude, ...more] })
    return (await Promise.all(files.map(read))).map(withoutTypes).join('\n')
  }
  const ofRedis = await codeWithout()
  // It has options of its own, some under the same names.
  const ofOthers = await codeWithout('storage/redis/**')
  for (const [table, , type] of tables) {
    const isRedis = type === 'RedisStorageOptions'
    for (const [key, row] of Object.entries(table)) {
      // An alias is read under its word.
      if ('alias' in row || 'ignored' in row) continue
      assert.match(isRedis ? ofRedis : ofOthers, new RegExp(`\\b${key}\\b`), `${key} of ${type}`)
    }
  }
})

test('[trap 51] no library is needed', async () => {
  const manifest = JSON.parse(await read('../package.json')) as Record<string, unknown>
  assert.equal(manifest.dependencies, undefined)
  for (const file of globSync('**/*.ts', { cwd: src, exclude: ['conformance/**'] })) {
    for (const [, name] of (await read(file)).matchAll(/^import .* from '([^'.][^']*)'/gm)) {
      assert.ok(name!.startsWith('node:'), `${file} imports ${name}`)
    }
  }
})

test('[Q5.11] what is given wins, what is undefined or absent has its default', () => {
  const table = { a: { default: 1, check: () => {} }, b: { default: 'x', check: () => {} }, c: { check: () => {} } }
  assert.deepEqual(resolveOptions('test', undefined, table), { a: 1, b: 'x' })
  assert.deepEqual(resolveOptions('test', {}, table), { a: 1, b: 'x' })
  assert.deepEqual(resolveOptions('test', { a: undefined, c: undefined }, table), { a: 1, b: 'x' })
  assert.deepEqual(resolveOptions('test', { a: 0, c: null }, table), { a: 0, b: 'x', c: null })
})

test('[Q5.11] each check is told the name of its option, and what is given is not changed', () => {
  const seen: unknown[] = []
  const check = (...args: unknown[]): void => void seen.push(args)
  const given = Object.freeze({ a: 5, b: undefined })
  resolveOptions('test', given, { a: { check }, b: { check } })
  assert.deepEqual(seen, [['a', 5]])
})

test('[Q5.11] an unknown key: the known ones, and the nearest of them', () => {
  const table = { timeout: { check: () => {} }, signal: { check: () => {} } }
  const message = 'wait options: expected one of timeout, signal (did you mean timeout?), got "TimeOut"'
  const given = { TimeOut: 5 } as object
  assert.throws(() => resolveOptions('wait', given, table), {
    name: 'TypeError',
    code: 'INVALID_ARGUMENT',
    message,
  })
  for (const key of ['toString', 'constructor', '__proto__', '', 'x'.repeat(10_000)]) {
    const hostile = JSON.parse(`{${JSON.stringify(key)}:1}`) as object
    assert.throws(() => resolveOptions('wait', hostile, table), { code: 'INVALID_ARGUMENT' })
  }
})

const acceptAll = (): void => {}
const row = { check: acceptAll }

/** The message of the refusal of one key. */
const refusal = (table: Table, key: string): string => {
  try {
    resolveOptions('x', { [key]: 1 }, table)
  } catch (error) {
    return (error as Error).message
  }
  return assert.fail('accepted')
}

test('an alias is resolved under its word, converted; both at once are refused', () => {
  const table = {
    pollMs: { default: 5, check: acceptAll },
    blockTimeout: { alias: 'pollMs', check: acceptAll, convert: (seconds: number) => seconds * 1_000 },
    old: { ignored: true, check: acceptAll },
  } as const
  const resolve = (given: { pollMs?: number; blockTimeout?: number; old?: number }): object =>
    resolveOptions('test', given, table)
  assert.deepEqual(resolve({ blockTimeout: 2 }), { pollMs: 2_000 })
  assert.deepEqual(resolve({ blockTimeout: undefined }), { pollMs: 5 })
  assert.deepEqual(resolve({ old: 1 }), { pollMs: 5 })
  const message = /^test options: expected either pollMs or its alias blockTimeout, got /
  assert.throws(() => resolve({ blockTimeout: 2, pollMs: 3 }), { code: 'INVALID_ARGUMENT', message })
  assert.throws(() => resolve({ pollMs: 3, blockTimeout: 2 }), { code: 'INVALID_ARGUMENT', message })
})

test('a word of another library is answered with ours, and a word that is none of ours with no guess', () => {
  assert.match(refusal({ url: row, schema: row }, 'connectionString'), /did you mean url\?/)
  assert.match(refusal({ maxAttempts: row, delayMs: row }, 'retries'), /did you mean maxAttempts\?/)
  assert.match(refusal({ maxAttempts: row, delayMs: row }, 'delay'), /did you mean delayMs\?/)
  assert.match(refusal({ cron: row, everyMs: row, timeZone: row }, 'tz'), /did you mean timeZone\?/)
  assert.match(refusal({ schedules: row, concurrency: row }, 'repeat'), /did you mean schedules\?/)
  assert.match(refusal({ schedules: row, concurrency: row }, 'teamSize'), /did you mean concurrency\?/)
  assert.match(refusal({ path: row, durability: row }, 'filename'), /did you mean path\?/)
  assert.match(refusal({ directory: row, durability: row }, 'path'), /did you mean directory\?/)
  assert.doesNotMatch(refusal({ maxAttempts: row, retention: row, delayMs: row }, 'priority'), /did you mean/)
})

const refusedWith = (message: RegExp): object => ({ code: 'INVALID_ARGUMENT', message })

test('an option that is said elsewhere is answered with the place', async () => {
  const storage = new MemoryStorage()
  const queue = new Queue<number>({ storage })
  await assert.rejects(queue.enqueue('a', 1, { jobId: 'a' } as object), refusedWith(/\(the id is the first argument\)/))
  await assert.rejects(queue.enqueue('a', 1, { repeat: {} } as object), refusedWith(/`schedules` of new Queue\(\)/))
  await assert.rejects(queue.enqueueAndWait('a', 1, { tx: {} } as object), refusedWith(/wait after the commit/))
  assert.throws(() => new Queue({ storage, defaultJobOptions: {} } as never), refusedWith(/are options of the queue/))
  await queue.stop()
})

/** Of what it throws. */
function messageOf(make: () => unknown): string {
  try {
    make()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('it was accepted')
}

test('of a wrong url only the scheme is shown: it may hold a password', () => {
  const other = messageOf(() => new RedisStorage({ url: 'postgres://ada:secret@host/app' }))
  assert.match(other, /expected a URL such as 'redis:.*, got one that begins with 'postgres:\/\/'/)
  const bare = messageOf(() => new PostgresStorage({ url: 'ada:secret@host' }))
  assert.match(bare, /got text that does not begin so/)
  for (const message of [other, bare]) assert.doesNotMatch(message, /secret|ada|host\/app/)
})

test('the calls of other libraries are refused with an example of ours', async () => {
  assert.throws(() => new Queue('mail' as never), {
    code: 'INVALID_ARGUMENT',
    message: `Queue options: expected an object, as in new Queue({ storage, name: 'mail' }), got "mail"`,
  })
  const queue = new Queue({ storage: new MemoryStorage() })
  await assert.rejects(queue.enqueue({ to: 'ada' } as never, undefined), {
    code: 'INVALID_ARGUMENT',
    message: 'id: expected a string, as in enqueue(id, payload) with the id of generateId(), got an object',
  })
  await assert.rejects(queue.enqueueAndWait('1', 1, { timeout: 0 }), /ask explain\(\) what it waits for\.$/)
  await queue.stop()
})

test('[Q5.01] text is measured in bytes, and well-formed', () => {
  for (const fits of ['x', 'x'.repeat(6), 'é'.repeat(3), '€€', '👍', '\u0001', ' ']) checkText('t', fits, 6)
  for (const bad of ['', 'x'.repeat(7), 'é'.repeat(4), '€€€', '👍👍', '\0', '\uD83D', 5, undefined]) {
    assert.throws(() => checkText('t', bad, 6), { code: 'INVALID_ARGUMENT', message: /^t: expected / })
  }
})

test('pollMs: what the queue is given wins over the storage, the storage over the default', () => {
  const plain = new MemoryStorage()
  const settings = { ...plain.settings, pollMs: 7_000 }
  const own = new Proxy(plain, { get: (target, key) => (key === 'settings' ? settings : Reflect.get(target, key)) })
  assert.equal(resolveQueueConfig({ storage: plain }).pollMs, 5_000)
  assert.equal(resolveQueueConfig({ storage: own }).pollMs, 7_000)
  assert.equal(resolveQueueConfig({ storage: own, blockTimeout: 2 }).pollMs, 2_000)
  assert.equal(resolveQueueConfig({ storage: own, pollMs: 3 }).pollMs, 3)
})

test('docs/options.md has every option of every face, as the code has it', async () => {
  assert.equal(await readFile(new URL('../../../docs/options.md', import.meta.url), 'utf8'), renderPage())
})

test('the engine’s own numbers cannot be changed', () => {
  assert.ok(Object.isFrozen(engineDefaults))
  assert.equal(engineDefaults.streamBuffer, 10_000)
})

/** The fields of an interface, each with what its TSDoc says after @default. */
function fieldsOf(text: string, type: string): Map<string, string | undefined> {
  const body = new RegExp(`^export interface ${type}\\b[^{]*\\{\\n(.*?)^\\}`, 'ms').exec(text)?.[1]
  assert.ok(body, `no interface ${type}`)
  const fields = body.matchAll(/(?:^ {2}\/\*\*((?:(?!\*\/).)*)\*\/\n)?^ {2}readonly (\w+)\??:/gms)
  return new Map([...fields].map(([, doc, name]) => [name!, doc && /@default (.+?)\s*$/s.exec(doc)?.[1]]))
}

/** Of a literal; undefined if it is prose. */
function valueOf(said: string): unknown {
  if (/^'.*'$/.test(said)) return said.slice(1, -1)
  if (said === 'Infinity') return Infinity
  if (said === '[]') return []
  if (said === 'true' || said === 'false') return said === 'true'
  return /^[\d_.]+$/.test(said) ? Number(said.replaceAll('_', '')) : undefined
}

/** Without comments and interfaces: a field that is only declared is not read. */
function withoutTypes(text: string): string {
  return text.replaceAll(/^export interface .*?^\}/gms, '').replaceAll(/\/\*.*?\*\/|\/\/[^\n]*/gs, '')
}
