// Waiting, triggering, cancelling, deleting and listing (specs/chains.md 3.8).

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineJobTypes } from 'holdfast/chains'
import { sleep, until } from '../queue/driver.ts'
import { chainBench, wait } from './bench.ts'
import type { ChainDriver } from './driver.ts'
import { sizeOf } from '../full-size.ts'

const types = defineJobTypes<{
  job: { entry: true; input: number; output: number }
  group: { entry: true; input: null; output: null; blockers: { typeName: 'job' }[] }
}>()

const start = { typeName: 'job', input: 1 } as const

export function waitTests(driver: ChainDriver): void {
  describe('waiting', () => {
    test('a wait ends by its timeout, by its signal, and at once for a chain that does not exist', async (t) => {
      const { client } = await chainBench(t, driver, types)
      const chain = await client.startJobChain(start)
      await assert.rejects(client.waitForJobChainCompletion(chain, { timeoutMs: 20 }), {
        name: 'WaitForJobChainCompletionTimeoutError',
        code: 'WAIT_TIMEOUT',
        chainId: chain.id,
        timeoutMs: 20,
      })
      const controller = new AbortController()
      const reason = new Error('enough')
      const waiting = client.waitForJobChainCompletion(chain, { ...wait, signal: controller.signal })
      controller.abort(reason)
      await assert.rejects(waiting, reason)
      await assert.rejects(client.waitForJobChainCompletion(chain, { ...wait, signal: controller.signal }), reason)
      const missing = client.waitForJobChainCompletion({ typeName: 'job', id: 'missing' }, wait)
      await assert.rejects(missing, { code: 'CHAIN_NOT_FOUND' })
      await assert.rejects(client.waitForJobChainCompletion(chain, {} as never), { code: 'INVALID_ARGUMENT' })
    })

    test('a cancellation and a deletion end a wait', async (t) => {
      const { client } = await chainBench(t, driver, types)
      const one = await client.startJobChain(start)
      const two = await client.startJobChain(start)
      const options = { timeoutMs: 10_000, pollIntervalMs: driver.hints === false ? 50 : 60_000 }
      const waits = [one, two].map((chain) => client.waitForJobChainCompletion(chain, options))
      const ends = Promise.allSettled(waits)
      await sleep(20)
      await client.cancelJobChain({ typeName: 'job', id: one.id, reason: 'no need' })
      await client.deleteJobChains({ rootChainIds: [two] })
      const [cancelled, deleted] = await ends
      assert.ok(cancelled!.status === 'rejected' && deleted!.status === 'rejected')
      assert.equal(cancelled!.reason.code, 'CHAIN_CANCELLED')
      assert.match(cancelled!.reason.message, /no need/)
      assert.equal(deleted!.reason.code, 'CHAIN_NOT_FOUND')
    })

    const skip = driver.hints === false && 'without hints the next poll finds it'
    test(
      '[chains trap 14] a wait listens before it reads: an end between the two is not missed',
      { skip },
      async (t) => {
        const { client, line, storage } = await chainBench(t, driver, types)
        const chain = await client.startJobChain(start)
        const ref = { type: 'chain.job', id: chain.id }
        let ended = false
        line.on('get', async (apply) => {
          // The first read sees the chain before its end, and its answer is late.
          const answer = await apply()
          if (!ended) {
            ended = true
            await storage.settle([
              { ...ref, chain: ref, token: 'by hand', kind: 'completed', result: Buffer.from('5') },
            ])
          }
          return answer
        })
        const before = performance.now()
        const done = await client.waitForJobChainCompletion(chain, { timeoutMs: 14_000, pollIntervalMs: 15_000 })
        assert.equal(done.output, 5)
        assert.ok(performance.now() - before < 5_000)
      },
    )

    // Frequent reads of so many chains would be most of the load.
    const rarely = driver.hints === false ? wait : { pollIntervalMs: 5_000 }
    test('[chains trap 18] a thousand waits: one subscription, which ends with the client', async (t) => {
      const { client, line, work } = await chainBench(t, driver, types)
      const count = driver.name === 'file' ? 100 : 1_000
      const items = Array.from({ length: count }, (_, input) => ({ typeName: 'job' as const, input }))
      const chains = await client.startJobChains({ items })
      const listens = line.count('listen')
      const waits = Promise.all(
        chains.map((chain) => client.waitForJobChainCompletion(chain, { ...rarely, timeoutMs: 30_000 })),
      )
      await work({ job: { process: async ({ job, complete }) => complete(job.input) } }, { concurrency: 50 })
      const reads = line.count('get')
      assert.deepEqual(
        (await waits).map(({ output }) => output),
        items.map(({ input }) => input),
      )
      assert.ok(line.count('get') - reads < count / 2, 'reads are shared')
      assert.equal(line.calls.filter(({ verb, args }) => verb === 'listen' && isDone(args)).length, 1)
      // Of the waits, of the worker, of its schedules, and of its limits.
      assert.ok(line.count('listen') - listens <= 4)
      const listening = line.count('unlisten')
      await client.close()
      assert.equal(line.count('unlisten'), listening + 1)
      await assert.rejects(client.getJobChain(chains[0]!), { code: 'STORAGE_CLOSED' })
    })
  })

  describe('triggering, cancelling, deleting', () => {
    test('triggerJob: scheduled and failing jobs are due now, failed and cancelled ones live again', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const later = { ...start, schedule: { afterMs: 3_600_000 } }
      const scheduled = await client.startJobChain(later)
      const due = await client.triggerJob({ typeName: 'job', id: scheduled.id })
      assert.equal(due.state, 'queued')
      await assert.rejects(client.triggerJob({ typeName: 'job', id: scheduled.id }), {
        code: 'NOT_TRIGGERABLE',
        state: 'queued',
      })
      await assert.rejects(client.triggerJob({ typeName: 'job', id: 'missing' }), { code: 'JOB_NOT_FOUND' })
      const cancelled = await client.startJobChain(later)
      await client.cancelJobChain({ typeName: 'job', id: cancelled.id })
      assert.equal((await client.triggerJob({ typeName: 'job', id: cancelled.id })).state, 'queued')
      let fails = 2
      const stop = await work({
        job: {
          process: async ({ job, complete }) => {
            if (job.input === 2 && fails-- > 0) throw new Error('not yet')
            return complete(job.input)
          },
          retryConfig: { maxAttempts: 2, initialDelayMs: 3_600_000, maxDelayMs: 3_600_000 },
        },
      })
      const failing = await client.startJobChain({ typeName: 'job', input: 2 })
      await until(async () => (await client.getJobChain(failing))!.state === 'failing')
      await client.triggerJob({ typeName: 'job', id: failing.id })
      await assert.rejects(client.waitForJobChainCompletion(failing, wait), { code: 'CHAIN_FAILED' })
      assert.equal((await client.triggerJob({ typeName: 'job', id: failing.id })).failures, 0)
      assert.equal((await client.waitForJobChainCompletion(failing, wait)).output, 2)
      await assert.rejects(client.triggerJob({ typeName: 'job', id: failing.id }), { code: 'NOT_TRIGGERABLE' })
      await stop()
    })

    test('a triggered chain whose key was taken since is refused', async (t) => {
      const { client } = await chainBench(t, driver, types)
      const deduplication = { key: 'k' }
      const one = await client.startJobChain({ ...start, deduplication })
      await client.cancelJobChain({ typeName: 'job', id: one.id })
      await client.startJobChain({ ...start, deduplication })
      await assert.rejects(client.triggerJob({ typeName: 'job', id: one.id }), { code: 'DEDUPLICATION_CONFLICT' })
    })

    test('cancelJobChain answers with a verdict', async (t) => {
      const { client } = await chainBench(t, driver, types)
      const chain = await client.startJobChain(start)
      assert.deepEqual(await client.cancelJobChain({ typeName: 'job', id: chain.id, reason: 'r' }), {
        verdict: 'cancelled',
      })
      const read = await client.getJobChain(chain)
      assert.ok(read!.state === 'cancelled' && read!.reason === 'r')
      const job = await client.getJob({ typeName: 'job', id: chain.id })
      assert.ok(job!.state === 'cancelled' && job!.reason === 'r')
      assert.deepEqual(await client.cancelJobChain({ typeName: 'job', id: chain.id }), { verdict: 'cancelled' })
      assert.deepEqual(await client.cancelJobChain({ typeName: 'job', id: 'missing' }), { verdict: 'not_found' })
    })

    test('deleteJobChains: whole trees, all or none', async (t) => {
      const { client } = await chainBench(t, driver, types)
      const tree = await client.startJobChain({
        typeName: 'group',
        input: null,
        startBlockers: async ({ startJobChain }) => [await startJobChain(start), await startJobChain(start)],
      })
      const needed = await client.startJobChain(start)
      const outside = await client.startJobChain({ typeName: 'group', input: null, blockers: [needed] })
      const child = (await client.listJobChains()).items.find(({ originId }) => originId === tree.id)
      await assert.rejects(client.deleteJobChains({ rootChainIds: [child!] }), {
        code: 'NOT_ROOT_CHAIN',
        root: { typeName: 'group', id: tree.id },
      })
      await assert.rejects(client.deleteJobChains({ rootChainIds: [tree, needed] }), {
        code: 'BLOCKER_REFERENCED',
        by: [{ typeName: 'group', id: outside.id }],
      })
      await assert.rejects(client.deleteJobChains({ rootChainIds: [tree, { typeName: 'job', id: 'missing' }] }), {
        code: 'CHAIN_NOT_FOUND',
      })
      assert.equal((await client.listJobChains()).items.length, 5)
      await client.deleteJobChains({ rootChainIds: [tree] })
      assert.deepEqual(
        (await client.listJobChains()).items.map(({ id }) => id).toSorted(),
        [needed.id, outside.id].toSorted(),
      )
      await client.deleteJobChains({ rootChainIds: [outside, needed] })
      assert.deepEqual((await client.listJobChains()).items, [])
      await client.deleteJobChains({ rootChainIds: [] })
    })
  })

  describe('listing', () => {
    test('by type, state, time and order; of jobs and of chains', async (t) => {
      const { client } = await chainBench(t, driver, types)
      const one = await client.startJobChain(start)
      await sleep(2)
      const two = await client.startJobChain({ ...start, schedule: { afterMs: 3_600_000 } })
      await sleep(2)
      const three = await client.startJobChain({ typeName: 'group', input: null, blockers: [one] })
      const ids = async (options: Parameters<typeof client.listJobChains>[0]) =>
        (await client.listJobChains(options)).items.map(({ id }) => id)
      assert.deepEqual(await ids({}), [three.id, two.id, one.id])
      assert.deepEqual(await ids({ orderDirection: 'asc' }), [one.id, two.id, three.id])
      assert.deepEqual(await ids({ filter: { typeName: ['group'] } }), [three.id])
      assert.deepEqual(await ids({ filter: { state: ['scheduled', 'blocked'] } }), [three.id, two.id])
      assert.deepEqual(await ids({ filter: { createdFrom: two.createdAt, createdTo: three.createdAt } }), [two.id])
      const { items } = await client.listJobs({ filter: { typeName: ['group'] } })
      assert.deepEqual(
        items.map(({ blockers }) => blockers),
        [[{ typeName: 'job', id: one.id }]],
      )
      await assert.rejects(client.listJobs({ limit: 1_001 }), { code: 'INVALID_ARGUMENT' })
      await assert.rejects(client.listJobs({ filter: { typo: 1 } } as never), { code: 'INVALID_ARGUMENT' })
    })

    test('[chains trap 30] pages: no row twice, no survivor missed, while rows come and go', async (t) => {
      const { client } = await chainBench(t, driver, types)
      const count = sizeOf(10_000, driver.name, { memory: 2_000, else: 300 })
      // A tenth of the rows is deleted, and as many are added, between the pages.
      const perPage = Math.ceil(count / 10 / (count / 37))
      const made: { typeName: 'job'; id: string }[] = []
      for (let at = 0; at < count; at += 100) {
        const items = Array.from({ length: 100 }, () => start)
        made.push(...((await client.startJobChains({ items })) as unknown as typeof made))
      }
      const seen: string[] = []
      const gone = new Set<string>()
      let cursor: string | null | undefined
      for (let page = 0; cursor !== null; page++) {
        const { items, nextCursor } = await client.listJobChains({
          cursor: cursor ?? undefined,
          limit: 37,
          orderDirection: 'asc',
        })
        seen.push(...items.map(({ id }) => id))
        cursor = nextCursor
        for (let one = 0; one < perPage; one++) {
          const victim = made[(page * 7 + one * 1_009) % count]!
          if (!gone.has(victim.id)) await client.deleteJobChains({ rootChainIds: [victim] })
          gone.add(victim.id)
        }
        await client.startJobChains({ items: Array.from({ length: perPage }, () => start) })
        assert.ok(page < count, 'the pages come to an end')
      }
      assert.equal(new Set(seen).size, seen.length)
      for (const { id } of made) assert.ok(gone.has(id) || seen.includes(id), `${id} was missed`)
    })
  })
}

const isDone = (args: readonly unknown[]): boolean => (args[0] as { kind: string }[])[0]!.kind === 'done'
