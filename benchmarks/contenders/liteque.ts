import { join } from 'node:path'
import type { Contender } from '../contender.ts'
import { countCalls } from '../count-calls.ts'
import { sqliteDiskUsage } from '../disk-usage.ts'
import type { Payload } from '../load.ts'

/** Its poll interval, ms; there is no default, and its README uses 1,000. */
const pollIntervalMs = 10

let allowed: Promise<void> | undefined

export const contender: Contender = {
  name: 'liteque',
  driver: 'sqlite',
  package: 'liteque',
  isPeer: true,
  isShared: true,
  durability: 'relaxed',
  configuration:
    'better-sqlite3 13 with its check against asynchronous transactions switched off: with the check liteque cannot take a job; ' +
    `WAL and synchronous NORMAL, its default; polls every ${pollIntervalMs} ms, also when idle; no validator; ` +
    'completed jobs are deleted, its default',

  async setup({ leaseMs, countCalls: counts }, place) {
    await (allowed ??= allowAsyncTransactions())
    const { buildDBClient, Runner, SqliteQueue } = await import('liteque')
    const db = buildDBClient(join(place, 'jobs.db'), { runMigrations: true })
    const database = db.session.client
    const options = { defaultJobArgs: { numRetries: 2 }, keepFailedJobs: false }
    const newQueue = () => new SqliteQueue('jobs', db, options)
    const producer = newQueue()
    const calls: Record<string, number> = {}
    const runners: { stop(): void }[] = []
    const running: Promise<void>[] = []
    return {
      async add(id, payload) {
        if (!(await producer.enqueue(payload))) throw new Error(`${id} was not accepted`)
      },
      async consume(concurrency, { onStart, onCompleted }) {
        const plain = newQueue()
        // Its own onComplete is called before the completion is recorded.
        const finalize = plain.finalize.bind(plain)
        plain.finalize = async (...args: unknown[]) => {
          await finalize(...args)
          if (args[2] === 'completed') onCompleted()
        }
        const queue = counts ? countCalls(plain, calls).storage : plain
        const run = async ({ data }: { data: Payload }): Promise<void> => onStart(data)
        const runner = new Runner(queue, { run }, { concurrency, pollIntervalMs, timeoutSecs: leaseMs / 1_000 })
        runners.push(runner)
        running.push(runner.run())
      },
      // Completed jobs leave nothing.
      async sweep() {},
      storedBytes: async () => sqliteDiskUsage(place, (text) => database.pragma(text)[0]),
      calls: () => calls,
      async close() {
        for (const runner of runners) runner.stop()
        await Promise.all(running)
        database.close()
      },
    }
  },
}

/**
 * Its transactions are async functions. better-sqlite3 ends a transaction when its function returns, at the
 * first await, and throws then since 11.10. Earlier versions need a build for each version of Node.
 */
async function allowAsyncTransactions(): Promise<void> {
  const { default: Database } = await import('better-sqlite3')
  const { transaction } = Database.prototype
  Database.prototype.transaction = function (run: (...args: unknown[]) => unknown) {
    let answer: unknown
    const native = transaction.call(this, (...args: unknown[]) => {
      answer = run(...args)
    })
    const deferred = (...args: unknown[]): unknown => {
      native(...args)
      return answer
    }
    return Object.assign(deferred, { deferred })
  }
}
