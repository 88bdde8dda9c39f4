// node --conditions=@holdfast/source examples/chains/fan-in.ts
//
// The report of a year waits for its quarters, and each quarter for its months. All of them are written in one move. Each job runs
// once, after the last of its blockers, in whatever order these end.

import { createClient, createInProcessWorker, defineJobTypes } from 'holdfast/chains'
import { SqliteStorage } from 'holdfast/sqlite'

const storage = new SqliteStorage({ path: ':memory:' })
const jobTypeRegistry = defineJobTypes<{
  month: { entry: true; input: { month: number }; output: number }
  quarter: { entry: true; input: { quarter: number }; output: number; blockers: { typeName: 'month' }[] }
  template: { entry: true; input: null; output: string }
  report: {
    entry: true
    input: { year: number }
    output: string
    blockers: [{ typeName: 'template' }, ...{ typeName: 'quarter' }[]]
  }
}>()
const client = await createClient({ storage, jobTypeRegistry })
const runs: Record<string, number> = { month: 0, quarter: 0, template: 0, report: 0 }

const worker = await createInProcessWorker({
  storage,
  jobTypeRegistry,
  concurrency: 4,
  jobAttemptMiddlewares: [
    async ({ job }, next) => {
      runs[job.typeName]!++
      return next()
    },
  ],
  jobTypeProcessors: {
    month: { process: async ({ job, complete }) => complete(job.input.month * 10) },
    quarter: {
      process: async ({ job, complete }) => complete(job.blockers.reduce((sum, { output }) => sum + output, 0)),
    },
    template: { process: async ({ complete }) => complete('In {year}, by quarter: {quarters}.') },
    report: {
      process: async ({ job, complete }) => {
        const [template, ...quarters] = job.blockers // in the order they were given, each with its output
        const text = template.output.replace('{year}', String(job.input.year))
        return complete(text.replace('{quarters}', quarters.map(({ output }) => output).join(', ')))
      },
    },
  },
})
await worker.start()

const monthsOf = (quarter: number): number[] => [1, 2, 3].map((month) => (quarter - 1) * 3 + month)

const report = await client.startJobChain({
  typeName: 'report',
  input: { year: 2026 },
  // Writes nothing itself: these chains are written in the same move as the report.
  startBlockers: async ({ startJobChain }) => [
    await startJobChain({ typeName: 'template', input: null }),
    ...(await Promise.all(
      [1, 2, 3, 4].map((quarter) =>
        startJobChain({
          typeName: 'quarter',
          input: { quarter },
          startBlockers: (inside) =>
            Promise.all(
              monthsOf(quarter).map((month) => inside.startJobChain({ typeName: 'month', input: { month } })),
            ),
        }),
      ),
    )),
  ],
})
console.log(`at first the report is ${report.state}`)
console.log((await client.waitForJobChainCompletion(report, { timeoutMs: 10_000 })).output)
console.log(
  Object.entries(runs)
    .map(([typeName, count]) => `${typeName}: ${count}`)
    .join(', '),
)
await worker.stop()
await client.close()
