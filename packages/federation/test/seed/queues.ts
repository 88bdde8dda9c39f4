// The two queues: jobs, ids, delays and retention.

import assert from 'node:assert/strict'
import { type EventEmitter, once } from 'node:events'
import { describe, test } from 'node:test'
import { Queue } from 'holdfast'
import { DELIVERY_QUEUE_NAME, HEALTH_CHECK_QUEUE_NAME } from '../../src/jobs.ts'
import { healthCheckId } from '../../src/peers/health-check-id.ts'
import { bench, bringForward, deliveryType, healthCheckType, type Place, until } from './bench.ts'
import type { World } from './world.ts'

const minute = 60_000
const hour = 60 * minute
const data = (
  deliveryJobId: string,
): { deliveryJobId: string; targetUrl: string; serverUrl: string; payload: string } => ({
  deliveryJobId,
  targetUrl: 'http://absent.test/inbox',
  serverUrl: 'http://absent.test',
  payload: '{"method":"FEDERATE"}',
})

export function queueTests(place: Place, world: World): void {
  describe('the queues', () => {
    test('[queue names] [queue shape] add, get, close and the queue itself, under the seed’s names', async (t) => {
      const { federation } = await bench(t, place, world)
      const { deliveryQueue: queue, healthCheckQueue } = federation
      assert.equal(federation.getFederationQueue(), queue)
      assert.deepEqual([queue.queue.name, DELIVERY_QUEUE_NAME], ['federation-delivery', 'federation-delivery'])
      const health = ['federation-health-check', 'federation-health-check']
      assert.deepEqual([healthCheckQueue.queue.name, HEALTH_CHECK_QUEUE_NAME], health)
      assert.deepEqual(await queue.add('deliver-follow', data('d1')), { id: 'd1', added: true })
      const job = await queue.get('d1')
      assert.deepEqual([job?.id, job?.name, job?.data, job?.state], ['d1', 'deliver-follow', data('d1'), 'queued'])
      assert.equal(await queue.get('d2'), undefined)
      const stopped = once(queue.queue as EventEmitter, 'stopped')
      await queue.close()
      await stopped
    })

    test('[queue id] [queue repeat] the id is deliveryJobId, or the one given; a repeat adds nothing', async (t) => {
      const { federation, storage } = await bench(t, place, world)
      const { deliveryQueue: queue } = federation
      await queue.add('deliver-follow', data('d1'))
      assert.deepEqual(await queue.add('deliver-follow', data('d1')), { id: 'd1', added: false })
      assert.deepEqual(await queue.add('deliver-follow', data('d1'), { id: 'other' }), { id: 'other', added: true })
      const { items } = await storage.list({ of: 'jobs', types: [deliveryType], limit: 10 })
      assert.deepEqual(items.map(({ id }) => id).toSorted(), ['d1', 'other'])
    })

    test('a Queue of the app with the same name shares no job with them', async (t) => {
      const { federation, storage } = await bench(t, place, world)
      const { deliveryQueue } = federation
      const taken: string[] = []
      const ended = Promise.withResolvers<void>()
      const app = new Queue<unknown>({ storage, name: DELIVERY_QUEUE_NAME })
      t.after(() => app.stop({ graceMs: 0 }))
      app.execute(async ({ id }) => {
        taken.push(id)
        if (id === 'last') ended.resolve()
      })
      assert.equal((await deliveryQueue.add('deliver-follow', data('same'))).added, true)
      assert.equal((await app.enqueue('same', {})).status, 'queued')
      await app.enqueue('last', {})
      await app.start()
      await ended.promise
      assert.deepEqual(taken.toSorted(), ['last', 'same'])
      assert.equal((await deliveryQueue.get('same'))?.state, 'queued')
    })

    test('[queue judges nothing] any payload is queued', async (t) => {
      const { federation } = await bench(t, place, world)
      const bad = { ...data('d1'), payload: 'no JSON', targetUrl: 'nowhere', serverUrl: '' }
      assert.equal((await federation.deliveryQueue.add('deliver-follow', bad)).added, true)
      assert.deepEqual((await federation.deliveryQueue.get('d1'))?.data, bad)
    })

    test('[option attempts] [option backoff] [option failed] five attempts, after 5, 10, 20 and 40 s; then kept for 7 days', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      peer.onInbox = () => ({ status: 500, body: 'x' })
      const job = await it.delivery(peer)
      const { deliveryWorker } = it.federation.startWorkers()
      let attempts = 0
      deliveryWorker.on('failed', () => attempts++)
      await it.federation.deliveryQueue.add(job.name, job.data)
      const ref = { type: deliveryType, id: job.id }
      const delays: number[] = []
      for (let attempt = 1; attempt <= 4; attempt++) {
        await until(() => attempts === attempt, `attempt ${attempt}`)
        const [record] = await it.storage.get([ref], { parts: ['attempts'] })
        assert.deepEqual([record?.state, record?.failures, record?.maxAttempts], ['failing', attempt, 5])
        const { endedAt } = record!.attempts!.at(-1) as unknown as { endedAt: number }
        delays.push(record!.runAt - endedAt)
        const row = await it.row(job.id)
        assert.ok(Math.abs(row!.nextAttemptAt! - record!.runAt) < 1_000, 'the row says when, as far as clocks agree')
        await bringForward(it.storage, job.id)
      }
      assert.deepEqual(delays, [5_000, 10_000, 20_000, 40_000])
      await until(() => attempts === 5, 'the last attempt')
      const [record] = await it.storage.get([ref])
      assert.deepEqual([record?.state, record!.expiresAt! - record!.finishedAt!], ['failed', 7 * 24 * hour])
      assert.equal(peer.delivered.length, 5)
      const row = await it.row(job.id)
      assert.deepEqual([row?.status, row?.attempts, row?.lastError], ['failed', 5, 'HTTP_STATUS'])
    })

    test('[option completed] kept for 24 h', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      const job = await it.delivery(peer)
      await it.federation.deliveryQueue.add(job.name, job.data)
      it.federation.startWorkers()
      await until(async () => (await it.federation.deliveryQueue.get(job.id))?.state === 'completed', 'completed')
      const [record] = await it.storage.get([{ type: deliveryType, id: job.id }])
      assert.equal(record!.expiresAt! - record!.finishedAt!, 24 * hour)
    })

    test('[health queue] the same shape, one attempt', async (t) => {
      const { federation } = await bench(t, place, world)
      const { healthCheckQueue: queue } = federation
      assert.equal(federation.getHealthCheckQueue(), queue)
      const { id } = await queue.add('health-check', { serverUrl: 'http://absent.test' })
      const job = await queue.get(id)
      assert.deepEqual([job?.data, job?.maxAttempts], [{ serverUrl: 'http://absent.test' }, 1])
    })

    test('[schedule delay] [schedule id] [schedule name] a delay of (5 + 10 n) minutes, an id from origin and number', async (t) => {
      const { federation, storage } = await bench(t, place, world)
      for (const [attempt, minutes] of [5, 15, 25, 35, 45].entries()) {
        await federation.scheduleHealthCheck('http://remote.example.com', attempt)
        const id = healthCheckId('http://remote.example.com', attempt)
        const job = await federation.healthCheckQueue.get(id)
        assert.deepEqual([job?.name, job?.data], ['health-check', { serverUrl: 'http://remote.example.com' }])
        const [record] = await storage.get([{ type: healthCheckType, id }])
        assert.equal(record!.runAt - record!.createdAt, minutes * minute)
      }
      // The test vector of the spec.
      await federation.scheduleHealthCheck('https://REMOTE.example.com:443/', 0)
      const job = await federation.healthCheckQueue.get('health-check_d4b64e4b29f0e3be_0')
      assert.deepEqual(job?.data, { serverUrl: 'https://remote.example.com' })
      // A repeat changes nothing.
      await federation.scheduleHealthCheck('https://remote.example.com', 0)
      const { types } = await storage.count({ types: [healthCheckType] })
      assert.equal(types[0]!.states.scheduled, 6)
    })

    test('[schedule kept] no record is kept', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      await it.federation.scheduleHealthCheck(peer.origin, 0)
      await it.federation.scheduleHealthCheck('http://self.test', 1)
      const ids = [healthCheckId(peer.origin, 0), healthCheckId('http://self.test', 1)]
      const { peers } = it.store
      const get = peers.get.bind(peers)
      t.mock.method(peers, 'get', async (url: string) => {
        if (url === peer.origin) throw new Error('the tables are away')
        return get(url)
      })
      const ended: string[] = []
      const { healthCheckWorker } = it.federation.startWorkers()
      healthCheckWorker.on('failed', ({ id }) => void ended.push(id))
      healthCheckWorker.on('completed', (id) => void ended.push(id))
      for (const id of ids) await bringForward(it.storage, id, healthCheckType)
      await until(() => ended.length === 2, 'both ended')
      for (const id of ids) assert.equal(await it.federation.healthCheckQueue.get(id), undefined)
    })

    test('[schedule attempt] anything but an integer >= 0 is refused', async (t) => {
      const { federation } = await bench(t, place, world)
      for (const attempt of [-1, 0.5, NaN, Infinity, '1', undefined]) {
        await assert.rejects(federation.scheduleHealthCheck('http://a.test', attempt as number), TypeError)
      }
      await assert.rejects(federation.scheduleHealthCheck('nowhere', 0), { code: 'ORIGIN_INVALID' })
    })
  })
}
