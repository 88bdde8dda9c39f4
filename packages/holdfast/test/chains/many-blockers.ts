// A job with as many blockers as a job may have: started, run, cancelled and deleted, in calls that end before their timeout.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ChainRef, defineJobTypes, type StartItem } from 'holdfast/chains'
import { chainBench, wait } from './bench.ts'
import type { ChainDriver } from './driver.ts'

interface Types {
  part: { entry: true; input: number; output: number }
  many: { entry: true; input: null; output: number; blockers: { typeName: 'part' }[] }
}
const types = defineJobTypes<Types>()

/** The limit. */
const count = 1_000
const numbers = Array.from({ length: count }, (_, index) => index)
const sum = (count * (count - 1)) / 2

/** Starts its blockers. */
const withNewParts: StartItem<Types, 'many', unknown> = {
  typeName: 'many',
  input: null,
  startBlockers: ({ startJobChain }) => Promise.all(numbers.map((input) => startJobChain({ typeName: 'part', input }))),
}

export function manyBlockerTests(driver: ChainDriver): void {
  describe(`a job with ${count} blockers`, () => {
    test('runs with their outputs, and is deleted with them', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      await work(
        {
          part: { process: async ({ job, complete }) => complete(job.input) },
          many: {
            process: async ({ job, complete }) => complete(job.blockers.reduce((all, { output }) => all + output, 0)),
          },
        },
        { concurrency: 100 },
      )
      const many = await client.startJobChain(withNewParts)
      assert.equal((await client.waitForJobChainCompletion(many, wait)).output, sum)
      await client.deleteJobChains({ rootChainIds: [many] })
      assert.deepEqual((await client.listJobChains()).items, [])
    })

    test('is deleted before any of them has run', async (t) => {
      const { client } = await chainBench(t, driver, types)
      const many = await client.startJobChain(withNewParts)
      assert.equal(many.state, 'blocked')
      await client.deleteJobChains({ rootChainIds: [many] })
      assert.deepEqual((await client.listJobChains()).items, [])
    })

    test('is cancelled, and no longer keeps chains that were there before', async (t) => {
      const { client } = await chainBench(t, driver, types)
      const items = numbers.map((input) => ({ typeName: 'part', input }) as const)
      const blockers: readonly ChainRef<'part'>[] = await client.startJobChains({ items })
      const jobs = []
      // The second one finds chains that have a dependent already.
      for (let index = 0; index < 2; index++) {
        jobs.push(await client.startJobChain({ typeName: 'many', input: null, blockers }))
      }
      const [part] = blockers
      const deletePart = (): Promise<void> => client.deleteJobChains({ rootChainIds: [part!] })
      await assert.rejects(deletePart(), { code: 'BLOCKER_REFERENCED' })
      for (const job of jobs) assert.deepEqual(await client.cancelJobChain(job), { verdict: 'cancelled' })
      await deletePart()
      await client.deleteJobChains({ rootChainIds: jobs })
      assert.equal(await client.getJobChain(jobs[0]!), null)
    })
  })
}
