// Rows of deliveries: retries, ends, sweeps and upkeep.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { seedPolicies } from '../../src/policies.ts'
import { reconcileRows } from '../../src/upkeep.ts'
import { type Bench, bench, type Place, until } from './bench.ts'
import type { World } from './world.ts'

const day = 86_400_000

/** Runs upkeep once, at an instant in the future. */
async function look({ federation, store }: Bench, laterMs: number): Promise<void> {
  const clock = { now: () => Date.now() + laterMs }
  await reconcileRows({ store, clock, policies: seedPolicies } as never, federation.deliveryQueue)
}

export function rowTests(place: Place, world: World): void {
  describe('the rows of deliveries', () => {
    test('[row next] a retried failure has the instant of the next attempt, by the policy', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      peer.onInbox = () => ({ status: 500, body: 'x' })
      for (const [index, delayMs] of [5_000, 10_000, 20_000, 40_000].entries()) {
        const job = await it.delivery(peer, { attempt: index + 1 })
        const before = Date.now()
        await assert.rejects(it.federation.processFederationDelivery(job), { code: 'HTTP_STATUS' })
        const { nextAttemptAt, status } = (await it.row(job.id))!
        assert.equal(status, 'open')
        assert.ok(nextAttemptAt! >= before + delayMs && nextAttemptAt! <= Date.now() + delayMs)
      }
    })

    test('[row exhausted] the last attempt marks the row failed, with the code', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      peer.mode = 'reset'
      const job = await it.delivery(peer, { attempt: 5 })
      await assert.rejects(it.federation.processFederationDelivery(job), { code: 'TRANSPORT' })
      const row = await it.row(job.id)
      assert.deepEqual([row?.status, row?.lastError], ['failed', 'TRANSPORT'])
      assert.ok(row?.settledAt)
    })

    test('[row exhausted] [event failed] attempts that time out are reported, and mark the row failed', async (t) => {
      const policies = {
        delivery: { maxAttempts: 2, timeoutMs: 20 },
        discovery: { timeoutMs: 10 },
        relay: { sweepTimeoutMs: 10 },
      }
      const it = await bench(t, place, world, { policies })
      t.mock.method(it.store.blacklist, 'matching', () => new Promise(() => {}))
      const peer = await it.peer()
      const { deliveryWorker } = it.federation.startWorkers()
      const ends: unknown[] = []
      deliveryWorker.on('failed', ({ isFinal, error }) => void ends.push([isFinal, (error as { code?: string }).code]))
      const job = await it.delivery(peer)
      await it.federation.deliveryQueue.add(job.name, job.data)
      await until(async () => (await it.row(job.id))?.status === 'failed', 'failed')
      assert.equal((await it.row(job.id))?.lastError, 'STALLED')
      assert.deepEqual(ends, [
        [false, 'STALLED'],
        [true, 'STALLED'],
      ])
    })

    test('[row swept] failed rows are swept after their retention, open ones never', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      const [failed, open] = [await it.delivery(peer), await it.delivery(peer)]
      await it.federation.deliveryQueue.add(open.name, open.data)
      await it.store.deliveries.failed(failed.id, 'TRANSPORT', Date.now())
      await look(it, 7 * day - 60_000)
      assert.ok(await it.row(failed.id))
      await look(it, 7 * day + 60_000)
      assert.equal(await it.row(failed.id), undefined)
      assert.equal((await it.row(open.id))?.status, 'open')
    })

    test('[row upkeep] a row is reconciled with its job; a row without a job gets one', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      const { deliveryQueue } = it.federation
      const [done, lost, fresh] = [await it.delivery(peer), await it.delivery(peer), await it.delivery(peer)]
      await it.store.deliveries.retried(fresh.id, Date.now() + day, 'HTTP_STATUS')
      await deliveryQueue.add(done.name, done.data)
      const { deliveries } = it.store
      const remove = deliveries.remove.bind(deliveries)
      // The process dies between the completion of a job and the removal of its row.
      const { mock } = t.mock.method(deliveries, 'remove', async () => {})
      const workers = it.federation.startWorkers()
      // The upkeep of the workers may add the lost job, which may complete first.
      const completed = new Promise<void>((resolve) => {
        workers.deliveryWorker.on('completed', (id) => id === done.id && resolve())
      })
      await completed
      await workers.stop({ graceMs: 0 })
      mock.mockImplementation(remove)
      await look(it, 120_000)
      assert.equal(await it.row(done.id), undefined)
      assert.deepEqual((await deliveryQueue.get(lost.id))?.data, lost.data)
      assert.equal(await deliveryQueue.get(fresh.id), undefined, 'it is not due yet')
    })

    test('[row upkeep] a row whose job failed without a record is marked failed', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      const job = await it.delivery(peer)
      await it.federation.deliveryQueue.add(job.name, job.data)
      await it.federation.deliveryQueue.queue.cancel(job.id)
      await look(it, 120_000)
      const row = await it.row(job.id)
      assert.deepEqual([row?.status, row?.lastError], ['failed', 'UNKNOWN'])
      const { deadLetters } = it.federation
      assert.deepEqual(
        (await deadLetters.list({ peer: peer.origin })).map(({ id }) => id),
        [job.id],
      )
      assert.equal((await deadLetters.list({ code: 'TRANSPORT' })).length, 0)
      assert.equal(await deadLetters.redrive({ type: 'deliver-follow' }), 1)
      assert.deepEqual(
        [(await it.row(job.id))?.status, (await it.federation.deliveryQueue.get(job.id))?.state],
        ['open', 'queued'],
      )
    })
  })
}
