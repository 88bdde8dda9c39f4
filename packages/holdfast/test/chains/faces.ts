// A Queue and a chain type of one name on one storage: neither sees the jobs of the other.

import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { Queue, type Storage } from 'holdfast'
import { defineJobTypes, type ListOptions } from 'holdfast/chains'
import { sleep, until } from '../queue/driver.ts'
import { chainBench, wait } from './bench.ts'
import type { ChainDriver } from './driver.ts'

const types = defineJobTypes<{ mail: { entry: true; input: number; output: string } }>()

function queueOn(t: TestContext, storage: Storage): Queue<number, string> {
  const queue = new Queue<number, string>({ storage, name: 'mail', concurrency: 5, pollMs: 50 })
  t.after(() => queue.stop({ graceMs: 0 }))
  return queue
}

export function faceTests(driver: ChainDriver): void {
  describe('a Queue of the same name', () => {
    test('every job runs once, in its own face', async (t) => {
      const { client, work, storage } = await chainBench(t, driver, types)
      const queue = queueOn(t, storage)
      const runs: string[] = []
      queue.execute(async ({ id, payload }) => {
        runs.push(`queue ${id}`)
        return `of the queue: ${payload}`
      })
      const ids = Array.from({ length: 20 }, (_, index) => `job-${index}`)
      const chains = await client.startJobChains({ items: ids.map((id, input) => ({ typeName: 'mail', id, input })) })
      await queue.start()
      for (const [index, id] of ids.entries()) {
        assert.equal((await queue.enqueue(id, index)).status, 'queued')
      }
      await work(
        {
          mail: {
            process: async ({ job, complete }) => {
              runs.push(`chain ${job.id}`)
              return complete(`of the chain: ${job.input}`)
            },
          },
        },
        { concurrency: 5 },
      )
      for (const [index, chain] of chains.entries()) {
        const done = await client.waitForJobChainCompletion(chain, wait)
        assert.equal(done.output, `of the chain: ${index}`)
        await until(async () => (await queue.getResult(ids[index]!)) === `of the queue: ${index}`)
      }
      const once = ids.flatMap((id) => [`chain ${id}`, `queue ${id}`])
      assert.deepEqual(runs.toSorted(), once.toSorted())
    })

    test('no id, key, cancel, read or wait reaches the other', async (t) => {
      const { client, storage } = await chainBench(t, driver, types)
      const queue = queueOn(t, storage)
      await queue.enqueue('one', 1)
      const ref = { typeName: 'mail', id: 'one' } as const
      assert.deepEqual([await client.getJobChain(ref), await client.getJob(ref)], [null, null])
      assert.deepEqual(await client.cancelJobChain(ref), { verdict: 'not_found' })
      for (const call of [
        () => client.waitForJobChainCompletion(ref, wait),
        () => client.deleteJobChains({ rootChainIds: [ref] }),
        () => client.completeJobChain({ ...ref, complete: async () => null }),
      ]) {
        await assert.rejects(call(), { code: 'CHAIN_NOT_FOUND', typeName: 'mail', chainId: 'one' })
      }
      await assert.rejects(client.triggerJob(ref), { code: 'JOB_NOT_FOUND', typeName: 'mail', jobId: 'one' })
      assert.equal((await queue.getStatus('one'))!.state, 'queued')

      const started = await client.startJobChain({ ...ref, input: 2, deduplication: { key: 'one' } })
      assert.deepEqual([started.status, started.deduplicated, started.typeName], ['added', false, 'mail'])
      const again = await client.startJobChain({ ...ref, input: 2 })
      assert.deepEqual([again.status, again.deduplicated, again.state], ['duplicate', true, 'queued'])
      assert.equal((await queue.enqueue('two', 1)).status, 'queued')
      assert.equal(await client.getJobChain({ typeName: 'mail', id: 'two' }), null)
      assert.deepEqual(await queue.cancel('one'), { status: 'cancelled' })
      assert.equal((await client.getJobChain(ref))!.state, 'queued')
    })

    test('lists hold chains alone, page by page, whatever lies between them', async (t) => {
      const { client, storage } = await chainBench(t, driver, types)
      const queue = queueOn(t, storage)
      const made: string[] = []
      const enqueue = (from: number, to: number) =>
        Promise.all(Array.from({ length: to - from }, (_, index) => queue.enqueue(`q-${from + index}`, 0)))
      // Runs of foreign jobs: before, between and after, shorter and longer than a page.
      for (const [round, count] of [0, 7, 1, 30, 3].entries()) {
        await enqueue(round * 100, round * 100 + count)
        await sleep(2)
        const items = Array.from({ length: 4 }, (_, input) => ({ typeName: 'mail' as const, input }))
        const chains = await client.startJobChains({ items })
        made.push(...chains.map(({ id }) => id))
        await sleep(2)
      }
      await enqueue(900, 905)
      for (const orderDirection of ['asc', 'desc'] as const) {
        for (const limit of [1, 3, 4, 20, 21, 1_000]) {
          for (const listed of ['chains', 'jobs'] as const) {
            const list = (options: ListOptions<object>) =>
              listed === 'chains' ? client.listJobChains(options) : client.listJobs(options)
            const seen: string[] = []
            const sizes: number[] = []
            for (let cursor: string | null | undefined; cursor !== null;) {
              const page = await list({ orderDirection, limit, cursor: cursor ?? undefined })
              seen.push(...page.items.map(({ id }) => id))
              sizes.push(page.items.length)
              cursor = page.nextCursor
            }
            assert.deepEqual(seen.toSorted(), made.toSorted(), `${orderDirection}, ${limit}`)
            // Every page but the last is full.
            assert.ok(sizes.slice(0, -1).every((size) => size === limit))
          }
        }
      }
      assert.equal((await client.listJobs({ filter: { state: ['queued'] } })).items.length, 20)
      assert.deepEqual((await client.listJobs({ filter: { state: ['completed'] } })).items, [])
    })

    test('what users see has the bare name; a name may have 256 bytes', async (t) => {
      const name = `${'é'.repeat(126)}.../`
      assert.equal(Buffer.byteLength(name), 256)
      const long = defineJobTypes<Record<string, { entry: true; input: null; output: null }>>()
      const { client, work, storage, events } = await chainBench(t, driver, long)
      await work({ [name]: { process: async ({ complete }) => complete(null) } }, { workerId: 'w' })
      const chain = await client.startJobChain({ typeName: name, input: null })
      const done = await client.waitForJobChainCompletion(chain, wait)
      const job = await client.getJob({ typeName: name, id: chain.id })
      assert.deepEqual([done.typeName, job!.typeName, job!.chainTypeName], [name, name, name])
      assert.equal((await client.listJobs({ filter: { typeName: [name] } })).items.length, 1)
      for (const { data } of events) {
        if ('typeName' in data) assert.equal(data.typeName, name)
        if ('chainTypeName' in data) assert.equal(data.chainTypeName, name)
      }
      const [record] = await storage.get([{ type: `chain.${name}`, id: chain.id }])
      assert.equal(record!.state, 'completed')
    })
  })
}
