// plainjob with its defaults, or with another `synchronous`. Its README names no option for speed: its worker takes one job
// at a time, so concurrency is the number of workers; its own benchmark logs nothing, and this one neither.

import { join } from 'node:path'
import type { Contender, Durability } from '../contender.ts'
import { countCalls } from '../count-calls.ts'
import { sqliteDiskUsage } from '../disk-usage.ts'
import type { Payload } from '../load.ts'

/** Its poll interval, ms. The default is one second; latencies of a few ms need this value. */
const pollIntervall = 10
const type = 'job'
const logger = { error: console.error, warn() {}, info() {}, debug() {} }

export function plainjob(name: string, durability: Durability): Contender {
  const isFull = durability === 'full'
  return {
    name,
    driver: 'sqlite',
    package: 'plainjob',
    isPeer: true,
    isShared: true,
    durability,
    configuration:
      `better-sqlite3 13; ${isFull ? 'synchronous FULL set on its connection' : 'WAL and synchronous NORMAL, its default'}; ` +
      `as many workers as concurrency; polls every ${pollIntervall} ms, also when idle; no logger; done jobs kept 1 h`,

    async setup(settings, place) {
      const { better, defineQueue, defineWorker } = await import('plainjob')
      const { default: Database } = await import('better-sqlite3')
      const database = new Database(join(place, 'jobs.db'))
      const plain = defineQueue({
        connection: better(database),
        logger,
        removeDoneJobsOlderThan: settings.resultTtlMs,
      })
      if (isFull) database.pragma('synchronous = FULL')
      const { storage: queue, calls } = settings.countCalls ? countCalls(plain) : { storage: plain, calls: {} }
      const workers: { stop(): Promise<void> }[] = []
      const running: Promise<void>[] = []
      return {
        async add(_, payload) {
          queue.add(type, payload)
        },
        async addMany(jobs) {
          queue.addMany(
            type,
            jobs.map(({ payload }) => payload),
          )
        },
        async consume(concurrency, { onStart, onCompleted }) {
          const handler = async ({ data }: { data: string }): Promise<void> => onStart(JSON.parse(data) as Payload)
          for (let index = 0; index < concurrency; index++) {
            const worker = defineWorker(type, handler, { queue, pollIntervall, logger, onCompleted })
            workers.push(worker)
            running.push(worker.start())
          }
        },
        async sweep() {
          queue.removeDoneJobs(settings.resultTtlMs)
        },
        storedBytes: async () => sqliteDiskUsage(place, (text) => database.pragma(text)[0]),
        calls: () => calls,
        async close() {
          await Promise.all(workers.map((worker) => worker.stop()))
          await Promise.all(running)
          plain.close()
        },
      }
    },
  }
}
