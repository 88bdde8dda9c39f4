// BullMQ as a peer.

import type { VolumeRecord } from '../volume-history.ts'
import { idOf } from '../volume-jobs.ts'
import type { Peer, PeerPlace, PeerRun, PeerSettings } from './peer.ts'

const name = 'volume'
const pageSize = 1_000
const states = ['completed', 'failed', 'delayed', 'active', 'prioritized', 'waiting', 'waiting-children', 'paused']

export const bullmq: Peer = {
  package: 'bullmq',
  driver: 'redis',
  tellsCompletion: true,
  configuration: (leaseMs) =>
    'ioredis 5; Redis with maxmemory-policy noeviction and an append-only file (appendfsync always); maxRetriesPerRequest null for ' +
    `workers; lockDuration and stalledInterval ${leaseMs} ms, as the lease; maxStalledCount as high as attempts; completed and failed ` +
    'jobs are kept; jobIds by the producer; addBulk',
  open: (settings) => placeOf(settings),
}

const runOf = ({ id, data, attemptsStarted }: any): PeerRun => ({
  job: Number(String(id).slice(1)),
  payload: data,
  attempt: attemptsStarted,
})

function placeOf({ url, leaseMs, attempts, backoffMs, load, onError }: PeerSettings): PeerPlace {
  const { hostname: host, port } = new URL(url)
  const connection = { host, port: Number(port) }
  const open: { close(): Promise<void> }[] = []
  let queue: Promise<any> | undefined
  const opened = (): Promise<any> =>
    (queue ??= load('bullmq').then(({ Queue }) => {
      const made = new Queue(name, { connection })
      made.on('error', onError)
      open.push(made)
      return made
    }))
  return {
    setUp: async () => void (await (await opened()).waitUntilReady()),
    async add(jobs) {
      const opts = { attempts, backoff: { type: 'fixed', delay: backoffMs } }
      await (
        await opened()
      ).addBulk(jobs.map(({ job, payload }) => ({ name: 'job', data: payload, opts: { ...opts, jobId: idOf(job) } })))
    },
    waiting: async () => (await opened()).getWaitingCount(),
    live: async () => {
      const counts = await (await opened()).getJobCounts('wait', 'active', 'delayed', 'prioritized', 'waiting-children')
      return Object.values<number>(counts).reduce((one, other) => one + other, 0)
    },
    async consume(slots, run, completed) {
      const { Worker } = await load('bullmq')
      const worker = new Worker(name, (job: any) => run(runOf(job)), {
        connection: { ...connection, maxRetriesPerRequest: null },
        concurrency: slots,
        lockDuration: leaseMs,
        stalledInterval: leaseMs,
        maxStalledCount: attempts,
      })
      // The result says which attempt was recorded: the job object may have a later count.
      worker.on('completed', (job: any, result: number) => completed({ ...runOf(job), attempt: result }))
      worker.on('error', onError)
      open.push(worker)
      await worker.waitUntilReady()
    },
    async *records(): AsyncGenerator<VolumeRecord> {
      for (const state of states) {
        for (let from = 0; ; from += pageSize) {
          const jobs: any[] = await (await opened()).getJobs([state], from, from + pageSize - 1, true)
          for (const { id, attemptsStarted, returnvalue } of jobs) {
            yield {
              id,
              job: Number(String(id).slice(1)),
              state,
              attempt: attemptsStarted,
              result: returnvalue ?? undefined,
            }
          }
          if (jobs.length < pageSize) break
        }
      }
    },
    close: async () => void (await Promise.all(open.map((part) => part.close()))),
  }
}
