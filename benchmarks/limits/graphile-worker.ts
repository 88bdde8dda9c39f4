import { postgresAt } from '../sessions/postgres.ts'
import type { Limited, LimitedJob } from './limited.ts'

export const graphileLimited: Limited = {
  kinds: { groups: 'a named queue per group; in order' },
  async open(_, place) {
    const { url } = await postgresAt(place, { countCalls: false })
    const { Logger, makeWorkerUtils, run } = await import('graphile-worker')
    const logger = new Logger(() => () => {})
    const utils = await makeWorkerUtils({ connectionString: url, logger })
    await utils.migrate()
    const runners: { stop(): Promise<void> }[] = []
    return {
      async add(jobs) {
        await utils.addJobs(jobs.map((payload) => ({ identifier: 'job', payload, queueName: payload.group })))
      },
      async work(concurrency, handler) {
        const runner = await run({
          connectionString: url,
          maxPoolSize: concurrency + 2,
          noHandleSignals: true,
          logger,
          taskList: { job: (payload: unknown) => handler(payload as LimitedJob) },
          crontab: '',
          preset: { worker: { concurrentJobs: concurrency } },
        })
        runners.push(runner)
      },
      async close() {
        await Promise.all(runners.map((runner) => runner.stop()))
        await utils.release()
      },
    }
  },
}
