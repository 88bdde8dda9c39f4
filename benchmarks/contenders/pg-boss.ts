import { setTimeout as sleep } from 'node:timers/promises'
import type { Contender } from '../contender.ts'
import { pgBossLimited } from '../limits/pg-boss.ts'
import type { Payload } from '../load.ts'
import { postgresAt, postgresServer, postgresUnavailable, queueName } from '../sessions/postgres.ts'
import { watchRecords } from '../sessions/recorded.ts'

/** Matches its statement that completes a batch; the answer has the number of jobs. */
const completes = /SET completed_on = [\s\S]*state = 'completed'/

/** It reads its statistics every second, and keeps them as long. */
const statisticsMs = 2_200

export const contender: Contender = {
  name: 'pg-boss',
  driver: 'postgres',
  package: 'pg-boss',
  isPeer: true,
  isShared: true,
  durability: 'full',
  configuration:
    `${postgresServer}; its own pool of 10; useListenNotify and notify on the queue; one worker whose batchSize is the concurrency, ` +
    'with burstWhenBatchFull; at concurrency 1, where that has no effect, burstWhenReadyExceeds 1 with its statistics every second ' +
    'and a poll every 0.5 s; ids by pg-boss; insert() in thousands; done jobs kept 1 h; completions counted in the replies to its ' +
    'client, because it has no event for them',
  unavailable: postgresUnavailable,

  async setup(settings, place) {
    const { resultTtlMs, pollSeconds, leaseMs } = settings
    const { url, observed } = await postgresAt(place, settings)
    const { PgBoss } = await import('pg-boss')
    // Idle workers need no statistics.
    const isIdle = pollSeconds >= 60
    const everySecond = {
      monitorIntervalSeconds: 1,
      superviseIntervalSeconds: 1,
      queueCacheIntervalSeconds: 1,
    }
    const open = async (isSingle: boolean) => {
      const boss = new PgBoss({
        connectionString: url,
        max: 10,
        useListenNotify: true,
        schedule: false,
        ...(isSingle && !isIdle && everySecond),
      })
      boss.on('error', (error: Error) => console.error(error))
      await boss.start()
      return boss
    }
    const producer = await open(false)
    await producer.createQueue(queueName, {
      notify: true,
      expireInSeconds: leaseMs / 1_000,
      // At least a second; 0 would keep them forever.
      deleteAfterSeconds: Math.max(1, Math.round(resultTtlMs / 1_000)),
    })
    const bosses = [producer]
    let single: Promise<typeof producer> | undefined
    return {
      // One job at a time: it fetches without a pause while its statistics, of the last second, say that jobs wait.
      async prepare(concurrency) {
        if (concurrency > 1) return
        const boss = await (single ??= open(true))
        await boss.supervise(queueName)
        await sleep(statisticsMs)
      },
      async add(_, payload) {
        if ((await producer.send(queueName, payload)) === null) throw new Error('a job was not accepted')
      },
      async addMany(jobs) {
        await producer.insert(
          queueName,
          jobs.map(({ payload }) => ({ data: payload })),
        )
      },
      async consume(concurrency, { onStart, onCompleted }) {
        await watchRecords(
          (text, { rows }) => (completes.test(text) ? Number((rows[0] as { count?: unknown }).count ?? 0) : 0),
          onCompleted,
        )
        // A hundred idle workers are workers of one instance, as in its docs.
        const boss = isIdle ? producer : await ((concurrency === 1 && single) || open(concurrency === 1))
        if (boss !== producer) bosses.push(boss)
        const polling =
          concurrency === 1
            ? { burstWhenReadyExceeds: 1, pollingIntervalSeconds: 0.5, notifyPollingIntervalSeconds: 0.5 }
            : { burstWhenBatchFull: true, notifyPollingIntervalSeconds: Math.max(pollSeconds, 0.5) }
        await boss.work(
          queueName,
          { batchSize: concurrency, ...polling },
          async (jobs: readonly { data: Payload }[]) => {
            for (const { data } of jobs) onStart(data)
          },
        )
      },
      async sweep() {
        if (resultTtlMs <= 1_000) await new Promise((resolve) => void setTimeout(resolve, 1_100))
        await producer.supervise(queueName)
      },
      ...observed,
      async close() {
        for (const boss of bosses.toReversed()) await boss.stop({ graceful: true, timeout: 5_000 })
      },
    }
  },
  limited: pgBossLimited,
}
