// Completing without a worker (specs/chains.md 3.8).

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineJobTypes } from 'holdfast/chains'
import { gate } from '../queue/driver.ts'
import { chainBench, inChain, wait } from './bench.ts'
import type { ChainDriver } from './driver.ts'
import { sizeOf } from '../full-size.ts'

const types = defineJobTypes<{
  ask: { entry: true; input: string; output: string; continueWith: { typeName: 'answer' } }
  answer: { input: string; output: string; continueWith: { typeName: 'thank' } }
  thank: { input: null; output: string }
  after: { entry: true; input: null; output: string; blockers: [{ typeName: 'ask' }] }
}>()

export function workerlessTests(driver: ChainDriver): void {
  describe('completeJobChain', () => {
    test('an output ends the chain: waits end, dependents go on, completedBy is null', async (t) => {
      const { client, told } = await chainBench(t, driver, types)
      const chain = await client.startJobChain({ typeName: 'ask', input: 'why' })
      const after = await client.startJobChain({ typeName: 'after', input: null, blockers: [chain] })
      const waiting = client.waitForJobChainCompletion(chain, wait)
      const done = await client.completeJobChain({
        typeName: 'ask',
        id: chain.id,
        complete: async ({ job, complete }) => {
          assert.ok(job.typeName === 'ask')
          assert.deepEqual([job.input, job.state], ['why', 'queued'])
          return complete(job, async () => 'because')
        },
      })
      assert.deepEqual([done.state, done.output], ['completed', 'because'])
      assert.equal((await waiting).output, 'because')
      const job = await client.getJob({ typeName: 'ask', id: chain.id })
      assert.ok(job!.state === 'completed' && job!.completedBy === null)
      assert.equal((await client.getJobChain(after))!.state, 'queued')
      assert.deepEqual([told('jobChainCompleted').length, told('jobUnblocked').length], [1, 1])
    })

    test('[chains trap 12] continueWith continues: no end, dependents still blocked', async (t) => {
      const { client, told } = await chainBench(t, driver, types)
      const chain = await client.startJobChain({ typeName: 'ask', input: 'why', priority: 9 })
      const after = await client.startJobChain({ typeName: 'after', input: null, blockers: [chain] })
      const now = await client.completeJobChain({
        typeName: 'ask',
        id: chain.id,
        complete: async ({ job, complete }) => {
          assert.ok(job.typeName === 'ask')
          const next = await complete(job, async ({ continueWith }) =>
            continueWith({ typeName: 'answer', input: 'hm' }),
          )
          assert.deepEqual([next.typeName, next.input, next.state, next.chainIndex], ['answer', 'hm', 'queued', 1])
          return next
        },
      })
      assert.equal(now.state, 'queued')
      const items = inChain((await client.listJobs({ filter: { chain } })).items)
      assert.deepEqual(
        items.map(({ typeName, state, priority }) => [typeName, state, priority]),
        [
          ['ask', 'completed', 9],
          ['answer', 'queued', 9],
        ],
      )
      assert.equal((await client.getJobChain(after))!.state, 'blocked')
      assert.deepEqual(told('jobChainCompleted'), [])
    })

    test('several jobs in one call', async (t) => {
      const { client } = await chainBench(t, driver, types)
      const chain = await client.startJobChain({ typeName: 'ask', input: 'why' })
      const done = await client.completeJobChain({
        typeName: 'ask',
        id: chain.id,
        complete: async ({ job, complete }) => {
          assert.ok(job.typeName === 'ask')
          const answer = await complete(job, async ({ continueWith }) =>
            continueWith({ typeName: 'answer', input: '1' }),
          )
          const thank = await complete(answer, async ({ continueWith }) =>
            continueWith({ typeName: 'thank', input: null }),
          )
          return complete(thank, async () => 'bye')
        },
      })
      assert.equal(done.output, 'bye')
      assert.equal((await client.listJobs({ filter: { chain } })).items.length, 3)
    })

    test('blocked and scheduled jobs can be completed; a later worker finds nothing to run', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const ask = await client.startJobChain({ typeName: 'ask', input: 'x', schedule: { afterMs: 3_600_000 } })
      const after = await client.startJobChain({ typeName: 'after', input: null, blockers: [ask] })
      const end = (typeName: 'ask' | 'after', id: string) =>
        client.completeJobChain({
          typeName,
          id,
          complete: async ({ job, complete }) => {
            assert.ok(job.typeName === 'after' || job.typeName === 'ask')
            return job.typeName === 'after' ? complete(job, async () => 'done') : complete(job, async () => 'done')
          },
        })
      assert.equal((await end('after', after.id)).state, 'completed')
      assert.equal((await end('ask', ask.id)).state, 'completed')
      let runs = 0
      await work({
        after: {
          process: async ({ complete }) => {
            runs++
            return complete('again')
          },
        },
      })
      assert.equal(((await client.getJobChain(after)) as { output: string }).output, 'done')
      assert.equal(runs, 0)
    })

    test('without a call of complete() it only reads; a callback that throws changes nothing', async (t) => {
      const { client } = await chainBench(t, driver, types)
      const chain = await client.startJobChain({ typeName: 'ask', input: 'x' })
      const read = await client.completeJobChain({
        typeName: 'ask',
        id: chain.id,
        complete: async ({ job }) => job.state,
      })
      assert.equal(read.state, 'queued')
      const boom = new Error('boom')
      const thrown = client.completeJobChain({
        typeName: 'ask',
        id: chain.id,
        complete: async ({ job, complete }) => {
          assert.ok(job.typeName === 'ask')
          return complete(job, async () => {
            throw boom
          })
        },
      })
      await assert.rejects(thrown, boom)
      assert.equal((await client.getJobChain(chain))!.state, 'queued')
      const missing = client.completeJobChain({ typeName: 'ask', id: 'missing', complete: async () => null })
      await assert.rejects(missing, { code: 'CHAIN_NOT_FOUND', chainId: 'missing' })
    })

    test('a chain that was completed or cancelled is refused with its code', async (t) => {
      const { client } = await chainBench(t, driver, types)
      const end = (id: string) =>
        client.completeJobChain({
          typeName: 'ask',
          id,
          complete: async ({ job, complete }) => {
            assert.ok(job.typeName === 'ask')
            return complete(job, async () => 'done')
          },
        })
      const one = await client.startJobChain({ typeName: 'ask', input: 'x' })
      await end(one.id)
      await assert.rejects(end(one.id), { code: 'JOB_ALREADY_COMPLETED', jobId: one.id })
      const two = await client.startJobChain({ typeName: 'ask', input: 'x' })
      await client.cancelJobChain({ typeName: 'ask', id: two.id })
      await assert.rejects(end(two.id), { code: 'CHAIN_CANCELLED', jobId: two.id })
    })

    test('[chains trap 13] against a worker that continues: either order, one continuation, no wrong refusal', async (t) => {
      const { client, work, storage } = await chainBench(t, driver, types)
      const begun = new Map<string, PromiseWithResolvers<void>>()
      await work(
        {
          ask: {
            process: async ({ job, complete }) => {
              begun.get(job.id)!.resolve()
              return complete(async ({ continueWith }) => continueWith({ typeName: 'answer', input: 'of the worker' }))
            },
          },
        },
        { concurrency: 4 },
      )
      const rounds = sizeOf(200, driver.name, { file: 20, memory: 60, else: 20 })
      const ends = { byWorker: 0, byHand: 0 }
      for (let round = 0; round < rounds; round++) {
        const id = `chain-${round}`
        begun.set(id, gate())
        await client.startJobChain({ typeName: 'ask', input: 'x', id })
        if (round % 2 === 0) await begun.get(id)!.promise
        let handed = ''
        try {
          await client.completeJobChain({
            typeName: 'ask',
            id,
            complete: async ({ job, complete }) => {
              handed = job.id
              if (job.typeName === 'ask') {
                await complete(job, async ({ continueWith }) => continueWith({ typeName: 'answer', input: 'by hand' }))
              }
            },
          })
        } catch (error) {
          // Only if the worker continued the same job after it was read, which a lock prevents.
          assert.equal((error as { code: string }).code, 'JOB_ALREADY_COMPLETED')
          assert.equal(handed, id)
          assert.equal(storage.features.transactions, false)
        }
        const items = inChain((await client.listJobs({ filter: { chain: { typeName: 'ask', id } } })).items)
        assert.deepEqual(
          items.map(({ typeName, chainIndex }) => [typeName, chainIndex]),
          [
            ['ask', 0],
            ['answer', 1],
          ],
        )
        ends[items[1]!.input === 'by hand' ? 'byHand' : 'byWorker']++
      }
      assert.equal(ends.byHand + ends.byWorker, rounds)
    })
  })
}
