// graphile-worker with its defaults, or with the batching that its performance page describes. It deletes completed jobs.

import type { EventEmitter } from 'node:events'
import type { Contender } from '../contender.ts'
import { graphileLimited } from '../limits/graphile-worker.ts'
import type { Payload } from '../load.ts'
import { postgresAt, postgresServer, postgresUnavailable } from './postgres.ts'
import { watchRecords } from './recorded.ts'

const task = 'job'
/** Its default is 10; its docs advise the number of concurrent jobs and some more. */
const poolSize = 20
/** Size of the local queue and delay of batched completions in ms: the best of 100 to 5,000, and of 0, 10 and 250. */
const [localSize, completeDelayMs] = [2_000, 0]

const completes = /^delete from .*_private_jobs/

/** A silent logger: by default it logs every success. */
const quiet = { error: console.error, warning() {}, info() {}, debug() {} }

export function graphileWorker(name: string, isBatching: boolean): Contender {
  const batching = isBatching
    ? `localQueue of ${localSize}, completeJobBatchDelay ${completeDelayMs} ms`
    : 'no local queue, no batched completion'
  return {
    name,
    driver: 'postgres',
    package: 'graphile-worker',
    isPeer: true,
    isShared: true,
    durability: 'full',
    configuration:
      `pg 8, ${postgresServer}; a pool of ${poolSize} for each process; ${batching}; prepared statements; no log; jobs without a queue name; ` +
      'addJobs in thousands; done jobs are deleted, it keeps no results; completions counted in the replies to its client, because its event ' +
      'comes before',
    unavailable: postgresUnavailable,
    // Once: the batching changes the speed, not the limit.
    ...(!isBatching && { limited: graphileLimited }),

    async setup(settings, place) {
      const { url, observed } = await postgresAt(place, settings)
      const { default: pg } = await import('pg')
      const { makeWorkerUtils, run, Logger } = await import('graphile-worker')
      const isIdle = settings.pollSeconds >= 60
      // Each idle worker listens on its own connection.
      const pool = new pg.Pool({ connectionString: url, max: isIdle ? 200 : poolSize })
      pool.on('error', (error: Error) => console.error(error))
      pool.on('connect', (client: EventEmitter) => client.on('error', (error: Error) => console.error(error)))
      const logger = new Logger(() => (level: keyof typeof quiet, message: string) => quiet[level](message))
      const producer = await makeWorkerUtils({ pgPool: pool, logger })
      await producer.migrate()
      const runners: { stop(): Promise<void> }[] = []
      return {
        async add(_, payload) {
          await producer.addJob(task, payload)
        },
        async addMany(jobs) {
          await producer.addJobs(jobs.map(({ payload }) => ({ identifier: task, payload })))
        },
        async consume(concurrency, { onStart, onCompleted }) {
          await watchRecords((text, { rowCount }) => (completes.test(text) ? (rowCount ?? 0) : 0), onCompleted)
          runners.push(
            await run({
              pgPool: pool,
              logger,
              noHandleSignals: true,
              taskList: { [task]: async (payload: unknown) => onStart(payload as Payload) },
              crontab: '',
              preset: {
                worker: {
                  concurrentJobs: concurrency,
                  pollInterval: settings.pollSeconds * 1_000,
                  ...(isBatching && {
                    localQueue: { size: localSize },
                    completeJobBatchDelay: completeDelayMs,
                    failJobBatchDelay: completeDelayMs,
                  }),
                },
              },
            }),
          )
        },
        // Nothing is left to sweep.
        async sweep() {},
        ...observed,
        async close() {
          await Promise.all(runners.map((runner) => runner.stop()))
          await producer.release()
          await pool.end()
        },
      }
    },
  }
}
