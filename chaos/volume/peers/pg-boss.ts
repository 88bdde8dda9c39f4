// pg-boss as a peer.

import type { VolumeRecord } from '../volume-history.ts'
import { idOf } from '../volume-jobs.ts'
import type { Peer, PeerPlace, PeerRun, PeerSettings } from './peer.ts'

const name = 'volume'
/** Jobs of one fetch. A worker of it goes on when all of them have ended. */
const batchSize = 50
/** The shortest that it allows, in seconds. */
const heartbeatSeconds = 10
/** Longer than any job of the run takes. */
const expireInSeconds = 60
const pageSize = 5_000

export const pgBoss: Peer = {
  package: 'pg-boss',
  driver: 'postgres',
  tellsCompletion: false,
  configuration: () =>
    `heartbeatSeconds ${heartbeatSeconds}, the shortest that it allows (so a lost job comes back after ${heartbeatSeconds} s, whatever the lease of ` +
    `the run is); expireInSeconds ${expireInSeconds}, longer than any job; supervised and monitored every second; retryLimit as high as our ` +
    `attempts, retryDelay 1 s; workers with batchSize ${batchSize}, perJobResults, burstWhenBatchFull and LISTEN/NOTIFY; completed jobs are ` +
    'kept; ids by the producer; insert() in batches',
  open: (settings) => placeOf(settings),
}

const uuidOf = (job: number): string => `00000000-0000-4000-8000-${job.toString(16).padStart(12, '0')}`

function placeOf({ url, attempts, load, onError }: PeerSettings): PeerPlace {
  let boss: Promise<any> | undefined
  let client: Promise<any> | undefined
  const start = async (): Promise<any> => {
    const { PgBoss } = await load('pg-boss')
    const made = new PgBoss({
      connectionString: url,
      useListenNotify: true,
      schedule: false,
      superviseIntervalSeconds: 1,
      monitorIntervalSeconds: 1,
    })
    made.on('error', onError)
    await made.start()
    return made
  }
  /** The server may be away at the first start: the next call tries again. */
  const opened = (): Promise<any> =>
    (boss ??= start().catch((error: unknown) => {
      boss = undefined
      throw error
    }))
  // Of the rig: what waits, and the records at the end.
  const sql = async (text: string, values: readonly unknown[] = []): Promise<any[]> => {
    client ??= load('pg').then(({ default: { Pool } }) => {
      const pool = new Pool({ connectionString: url, max: 1 })
      pool.on('error', onError)
      return pool
    })
    return (await (await client).query(text, values)).rows
  }
  const count = async (states: string): Promise<number> =>
    Number((await sql(`SELECT count(*) FROM pgboss.job WHERE name = $1 AND ${states}`, [name]))[0].count)
  return {
    async setUp() {
      await (
        await opened()
      ).createQueue(name, {
        notify: true,
        retryLimit: attempts,
        retryDelay: 1,
        heartbeatSeconds,
        expireInSeconds,
        deleteAfterSeconds: 86_400,
      })
    },
    async add(jobs) {
      await (
        await opened()
      ).insert(
        name,
        jobs.map(({ job, payload }) => ({ id: uuidOf(job), data: { job, ...payload } })),
      )
    },
    waiting: () => count("state < 'active'"),
    live: () => count("state <= 'active'"),
    async consume(slots, run) {
      const options = {
        batchSize,
        localConcurrency: Math.max(1, Math.round(slots / batchSize)),
        perJobResults: true,
        includeMetadata: true,
        burstWhenBatchFull: true,
        pollingIntervalSeconds: 0.5,
        notifyPollingIntervalSeconds: 0.5,
      }
      const settle = async (given: any): Promise<object> => {
        const { job, ...payload } = given.data
        const one: PeerRun = { job, payload, attempt: given.retryCount + 1 }
        try {
          return { id: given.id, status: 'completed', output: { attempt: await run(one) } }
        } catch (error) {
          return { id: given.id, status: 'failed', output: { message: (error as Error).message } }
        }
      }
      await (await opened()).work(name, options, (jobs: any[]) => Promise.all(jobs.map(settle)))
    },
    async *records(): AsyncGenerator<VolumeRecord> {
      for (let after = uuidOf(0), isFirst = true; ; isFirst = false) {
        const rows = await sql(
          `SELECT id, state::text, retry_count, (data->>'job')::int AS job, (output->>'attempt')::int AS result FROM pgboss.job
           WHERE name = $1 AND id ${isFirst ? '>=' : '>'} $2 ORDER BY id LIMIT ${pageSize}`,
          [name, after],
        )
        for (const { job, state, retry_count: retries, result } of rows) {
          yield { id: idOf(job), job, state, attempt: retries + 1, result: result ?? undefined }
        }
        if (rows.length < pageSize) return
        after = rows.at(-1).id
      }
    },
    async close() {
      await (await boss)?.stop({ graceful: true, timeout: 5_000 })
      await (await client)?.end()
    },
  }
}
