// pg-boss limits groups only: a limit of the whole queue is that of one group with all jobs.

import { postgresAt, queueName } from '../sessions/postgres.ts'
import type { Limited, LimitedJob } from './limited.ts'

const optimistic = 'by a count without a lock, which its docs say can be exceeded for moments'

export const pgBossLimited: Limited = {
  kinds: {
    concurrency: `\`groupConcurrency\`, with all jobs in one group; ${optimistic}`,
    groups: `\`groupConcurrency\`; ${optimistic}`,
  },
  async open(limit, place) {
    const { url } = await postgresAt(place, { countCalls: false })
    const { PgBoss } = await import('pg-boss')
    // Its workers look again at once only while its statistics show jobs that wait.
    const everySecond = { monitorIntervalSeconds: 1, superviseIntervalSeconds: 1, queueCacheIntervalSeconds: 1 }
    const boss = new PgBoss({ connectionString: url, max: 10, useListenNotify: true, schedule: false, ...everySecond })
    boss.on('error', (error: Error) => console.error(error))
    await boss.start()
    await boss.createQueue(queueName, { notify: true })
    return {
      async add(jobs) {
        await boss.insert(
          queueName,
          jobs.map((data) => ({ data, group: { id: limit.kind === 'groups' ? data.group : 'all' } })),
        )
      },
      async work(concurrency, handler) {
        const groupConcurrency = limit.kind === 'concurrency' ? limit.limit : 1
        const polling = { burstWhenReadyExceeds: 1, pollingIntervalSeconds: 0.5, notifyPollingIntervalSeconds: 0.5 }
        await boss.work(
          queueName,
          { localConcurrency: concurrency, groupConcurrency, ...polling },
          async ([job]: readonly { data: LimitedJob }[]) => handler(job!.data),
        )
      },
      close: () => boss.stop({ graceful: true, timeout: 5_000 }),
    }
  },
}
