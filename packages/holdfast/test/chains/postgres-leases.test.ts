// Leases beside open transactions, on Postgres with a small pool (specs/chains.md, trap 19): renewals wait for no lock and find a
// connection, and no worker takes a job that a transaction has locked.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { defineJobTypes } from 'holdfast/chains'
import { PostgresStorage } from 'holdfast/postgres'
import { sleep } from '../queue/driver.ts'
import { newSchema, postgresPlace, stopPostgres } from '../postgres-subject.ts'
import { chainBench } from './bench.ts'

after(stopPostgres)

const types = defineJobTypes<{
  atomic: { entry: true; input: null; output: number }
  staged: { entry: true; input: null; output: number }
  slow: { entry: true; input: null; output: number }
}>()

const leaseConfig = { leaseMs: 1_000, renewIntervalMs: 300 }
const wait = { timeoutMs: 60_000 } as const

test('[chains trap 19] transactions of three leases, on a pool of five: no lease is lost, all complete once', async (t) => {
  const { server } = await postgresPlace()
  const { client, work, told, line } = await chainBench(
    t,
    {
      name: 'postgres',
      open: async () => ({
        storage: new PostgresStorage({ url: server.url, poolSize: 5, schema: newSchema() }),
        close: async () => {},
      }),
    },
    types,
  )
  const tens = Array.from({ length: 10 })
  const chains = [
    ...(await client.startJobChains({ items: tens.map(() => ({ typeName: 'atomic' as const, input: null })) })),
    ...(await client.startJobChains({ items: tens.map(() => ({ typeName: 'staged' as const, input: null })) })),
  ]
  await work(
    {
      atomic: {
        process: async ({ job, prepare, complete }) => {
          await prepare({ mode: 'atomic' })
          await sleep(3_000)
          return complete(job.attempt)
        },
      },
      staged: {
        process: async ({ job, prepare, complete }) => {
          await prepare({ mode: 'staged' })
          await sleep(3_000)
          return complete(async () => job.attempt)
        },
      },
      slow: {
        process: async ({ job, complete }) =>
          complete(async () => {
            await sleep(2_000)
            return job.attempt
          }),
      },
    },
    { concurrency: 20, jobTypeProcessing: { defaultLeaseConfig: leaseConfig } },
  )
  const done = await Promise.all(chains.map((chain) => client.waitForJobChainCompletion(chain, wait)))
  assert.ok(done.every(({ output }) => output === 1))
  const slow = await client.startJobChains({
    items: Array.from({ length: 10 }, () => ({ typeName: 'slow' as const, input: null })),
  })
  const before = line.count()
  const from = performance.now()
  // Another worker, which would claim jobs that the first lost.
  await work(
    { slow: { process: async ({ job, complete }) => complete(job.attempt) } },
    { concurrency: 1, jobTypeProcessing: { defaultLeaseConfig: leaseConfig, pollIntervalMs: 60_000 } },
  )
  const ended = await Promise.all(slow.map((chain) => client.waitForJobChainCompletion(chain, wait)))
  assert.ok(ended.every(({ output }) => output === 1))
  const seconds = (performance.now() - from) / 1_000
  const calls = line.calls.slice(before).filter(({ verb }) => verb === 'claim' || verb === 'nextDueAt').length
  assert.ok(calls / seconds < 20, `${calls} looks in ${seconds} s`)
  assert.deepEqual([told('jobAttemptLost'), told('jobAttemptFailed'), told('jobStalled')], [[], [], []])
})
