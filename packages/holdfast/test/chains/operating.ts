// The options that chains share with the other faces: expiry, groups, search, time limits, and cancelling with a choice.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineJobTypes } from 'holdfast/chains'
import { chainBench, wait } from './bench.ts'
import type { ChainDriver } from './driver.ts'

const types = defineJobTypes<{
  job: { entry: true; input: number; output: number; continueWith: { typeName: 'next' } }
  next: { input: null; output: number }
}>()

const start = { typeName: 'job', input: 1 } as const

export function operatingTests(driver: ChainDriver): void {
  describe('operating', () => {
    // Without hints the holder learns of a cancel by its next heartbeat, and the wait looks every 15 s.
    const skip = driver.hints === false && 'without hints the next heartbeat and the next poll find it'

    test('[F17] with abort, a running job is asked to stop, and waitMs waits for its end', { skip }, async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const running = Promise.withResolvers<void>()
      const stop = await work({
        job: {
          process: async ({ signal }) => {
            running.resolve()
            await new Promise((resolve) => signal.addEventListener('abort', resolve))
            assert.equal(signal.reason?.reason, 'cancelled')
            throw signal.reason
          },
        },
      })
      const chain = await client.startJobChain(start)
      await running.promise
      const verdict = await client.cancelJobChain({ ...chain, abort: true, reason: 'enough', waitMs: 30_000 })
      assert.deepEqual(verdict, { verdict: 'cancelled' })
      const read = await client.getJobChain(chain)
      assert.ok(read?.state === 'cancelled' && read.reason === 'enough')
      await stop()
    })

    test('[F17] after an abort complete() rejects; without waitMs the call does not wait', { skip }, async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const [running, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const stop = await work({
        job: {
          process: async ({ complete, signal }) => {
            running.resolve()
            await go.promise
            // Until the worker has heard of the cancel.
            if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
            return complete(5)
          },
        },
      })
      const chain = await client.startJobChain(start)
      await running.promise
      assert.deepEqual(await client.cancelJobChain({ ...chain, abort: true }), { verdict: 'cancelling' })
      assert.deepEqual(await client.cancelJobChain({ ...chain, abort: true, waitMs: 1 }), { verdict: 'cancelling' })
      const cancelled = client.cancelJobChain({ ...chain, abort: true, waitMs: 30_000 })
      go.resolve()
      assert.deepEqual(await cancelled, { verdict: 'cancelled' })
      await stop()
    })

    test('[F17] bad options of cancelJobChain are refused', async (t) => {
      const { client } = await chainBench(t, driver, types)
      const chain = await client.startJobChain(start)
      for (const bad of [{ abort: 1 }, { waitMs: -1 }, { waitMs: 'x' }, { reason: 5 }]) {
        await assert.rejects(client.cancelJobChain({ ...chain, ...(bad as object) }), { code: 'INVALID_ARGUMENT' })
      }
      assert.equal((await client.getJobChain(chain))!.state, 'queued')
    })

    test('[F5] a chain whose first job was not started in time is cancelled', async (t) => {
      const { client, storage, work } = await chainBench(t, driver, types)
      const chain = await client.startJobChain({ ...start, expiresInMs: 1 })
      while ((await storage.count({})).now <= chain.createdAt + 1);
      const stop = await work({ job: { process: async ({ complete }) => complete(1) } })
      await assert.rejects(client.waitForJobChainCompletion(chain, wait), { code: 'CHAIN_CANCELLED' })
      await stop()
    })

    test('[F30] fields of a start and of a continuation are stored with their jobs', async (t) => {
      const { client, storage, work } = await chainBench(t, driver, types)
      const chain = await client.startJobChain({ ...start, search: { customer: 'c-1' } })
      const stop = await work({
        job: {
          process: async ({ complete }) =>
            complete(async ({ continueWith }) =>
              continueWith({ typeName: 'next', input: null, search: { customer: 'c-2', total: 5 } }),
            ),
        },
        next: { process: async ({ complete }) => complete(2) },
      })
      await client.waitForJobChainCompletion(chain, wait)
      const found = async (where: object): Promise<string[]> =>
        (await storage.list({ of: 'jobs', where: where as never, limit: 10 })).items.map(({ type }) => type)
      assert.deepEqual(await found({ customer: 'c-1' }), ['chain.job'])
      assert.deepEqual(await found({ total: { gte: 5 } }), ['chain.next'])
      await stop()
    })

    test('[F21] chains of one ordered group run one at a time, in the order of their starts', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const group = { key: 'g', ordered: true } as const
      const chains = []
      for (const input of [1, 2, 3]) chains.push(await client.startJobChain({ ...start, input, group }))
      const order: number[] = []
      let running = 0
      const stop = await work(
        {
          job: {
            process: async ({ job, complete }) => {
              assert.equal(++running, 1)
              await new Promise((resolve) => setImmediate(resolve))
              order.push(job.input)
              running--
              return complete(job.input)
            },
          },
        },
        { concurrency: 3 },
      )
      for (const chain of chains) await client.waitForJobChainCompletion(chain, wait)
      assert.deepEqual(order, [1, 2, 3])
      await stop()
    })
  })
}
