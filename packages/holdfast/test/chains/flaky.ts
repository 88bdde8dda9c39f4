// A storage whose calls fail at random, before or after they were applied (specs/chains.md, trap 28).

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineJobTypes } from 'holdfast/chains'
import { fakeClock } from 'holdfast/testing'
import { sizeOf } from '../full-size.ts'
import type { ChainDriver } from './driver.ts'
import type { Rule } from '../queue/faulty-storage.ts'
import { chainBench } from './bench.ts'

const types = defineJobTypes<{
  part: { entry: true; input: number; output: number; continueWith: { typeName: 'rest' } }
  rest: { input: number; output: number }
  sum: { entry: true; input: null; output: number; blockers: { typeName: 'part' }[] }
}>()

const verbs = ['add', 'claim', 'extend', 'settle', 'get', 'nextDueAt', 'transaction']
const loop = { initialDelayMs: 1, maxDelayMs: 20 } as const

export function flakyTests(driver: ChainDriver): void {
  describe('a flaky storage', () => {
    test('[chains trap 28] loses nothing: every chain completes, each completion is recorded once', async (t) => {
      const { client, line, work, told } = await chainBench(t, driver, types)
      const { random } = fakeClock({ seed: 28 })
      const flaky: Rule = async (apply, { verb, number }) => {
        const dice = random()
        if (dice < 0.05) throw new Error(`${verb} ${number} failed before`)
        const answer = await apply()
        if (dice > 0.95) throw new Error(`${verb} ${number} failed after`)
        return answer
      }
      const leaseConfig = { leaseMs: 1_000, renewIntervalMs: 300 }
      const processing = { defaultLeaseConfig: leaseConfig, workerLoopRetryConfig: loop, pollIntervalMs: 50 }
      const count = sizeOf(30, driver.name, { memory: 30, else: 12 })
      const chains: { typeName: 'sum'; id: string }[] = []
      for (let index = 0; index < count; index++) {
        const chain = await client.startJobChain({
          typeName: 'sum',
          input: null,
          startBlockers: async ({ startJobChain }) =>
            Promise.all([1, 2, 3].map((input) => startJobChain({ typeName: 'part', input }))),
        })
        chains.push({ typeName: 'sum', id: chain.id })
      }
      for (const verb of verbs) line.on(verb, flaky)
      for (let index = 0; index < 2; index++) {
        await work(
          {
            part: {
              process: async ({ job, complete }) =>
                complete(async ({ continueWith }) => continueWith({ typeName: 'rest', input: job.input * 10 })),
            },
            rest: { process: async ({ job, complete }) => complete(job.input) },
            sum: {
              process: async ({ job, complete }) => complete(job.blockers.reduce((sum, { output }) => sum + output, 0)),
            },
          },
          {
            concurrency: 5,
            jobTypeProcessing: { ...processing, defaultRetryConfig: { initialDelayMs: 1, jitter: 0 } },
          },
        )
      }
      for (const chain of chains) {
        const done = await client.waitForJobChainCompletion(chain, { timeoutMs: 30_000, pollIntervalMs: 50 })
        assert.equal(done.output, 60)
      }
      for (const verb of verbs) line.on(verb, undefined)
      const jobs = []
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await client.listJobs({ limit: 1_000, cursor: cursor ?? undefined })
        jobs.push(...page.items)
        cursor = page.nextCursor
      }
      assert.equal(jobs.length, count + 2 * 3 * count)
      assert.ok(jobs.every(({ state }) => state === 'completed'))
      const completions = told('jobChainCompleted').map(({ id }) => id)
      assert.equal(new Set(completions).size, completions.length)
    })
  })
}
