// The workers: their jobs, their events and log lines, and their start.

import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { describe, test } from 'node:test'
import { assemble } from '../../src/create.ts'
import { keyringFromBase64 } from '../../src/keyring.ts'
import { healthCheckId } from '../../src/peers/health-check-id.ts'
import {
  type Bench,
  bench,
  bringForward,
  deliveryType,
  followPayload,
  healthCheckType,
  type LogLine,
  type Place,
  until,
} from './bench.ts'
import type { TestPeer, World } from './world.ts'

const linesOf = ({ log }: Bench, level: LogLine['level'], text: string): LogLine[] =>
  log.filter((line) => line.level === level && line.message.includes(text))

export function workerTests(place: Place, world: World): void {
  describe('the workers', () => {
    test('[worker idempotent] [worker concurrency] a second start returns the same pair; ten deliveries, four of them to one peer, and three checks run at a time', async (t) => {
      const it = await bench(t, place, world)
      const peers = await Promise.all([1, 2, 3].map(() => it.peer()))
      const workers = it.federation.startWorkers()
      assert.equal(it.federation.startWorkers(), workers)
      assert.equal(it.federation.startFederationWorker(), workers)
      await workers.start()
      let now = 0
      let most = 0
      const mostOf = new Map<TestPeer, number>()
      const full = Promise.withResolvers<void>()
      for (const peer of peers) {
        let here = 0
        peer.onInbox = async (plain) => {
          most = Math.max(most, ++now)
          mostOf.set(peer, Math.max(mostOf.get(peer) ?? 0, ++here))
          if (now === 10) full.resolve()
          await full.promise
          // Time for an eleventh delivery, or a fifth to this peer, to arrive if a limit did not hold.
          await new Promise((resolve) => setTimeout(resolve, 20))
          now--
          here--
          return peer.followAck(plain)
        }
      }
      for (const peer of peers) {
        for (let n = 0; n < 6; n++) {
          const job = await it.delivery(peer, { hasRow: false })
          await it.federation.deliveryQueue.add(job.name, job.data)
        }
      }
      await until(() => peers.every(({ delivered }) => delivered.length === 6) && now === 0, 'all are delivered')
      assert.equal(most, 10)
      // Ten slots, at most four of one peer: two of them have four, or all have three or four.
      assert.equal(Math.max(...mostOf.values()), 4)

      const sick = await Promise.all([1, 2, 3, 4, 5].map(() => it.peer()))
      let checking = 0
      let mostChecks = 0
      const started = Promise.withResolvers<void>()
      const { peers: table } = it.store
      const get = table.get.bind(table)
      t.mock.method(table, 'get', async (url: string) => {
        mostChecks = Math.max(mostChecks, ++checking)
        if (checking === 3) started.resolve()
        await started.promise
        await new Promise((resolve) => setTimeout(resolve, 20))
        checking--
        return get(url)
      })
      for (const { origin } of sick) {
        await it.federation.healthCheckQueue.add('health-check', { serverUrl: origin }, { id: origin })
      }
      await until(async () => {
        const jobs = await Promise.all(sick.map(({ origin }) => it.federation.healthCheckQueue.get(origin)))
        return jobs.every((job) => job?.state === 'completed')
      }, 'all are checked')
      assert.equal(mostChecks, 3)
    })

    test('[worker resume] unhealthy peers that may be checked are scheduled at their stored attempts', async (t) => {
      const it = await bench(t, place, world)
      const [fresh, second, used, blocked] = [await it.peer(), await it.peer(), await it.peer(), await it.peer()]
      for (const { origin } of [fresh, second, used]) await it.store.peers.unhealthy(origin, 'TIMEOUT', 5, 1_000)
      await it.store.peers.unhealthy(blocked.origin, 'DNS_BLOCKED', 5, 1_000)
      for (let n = 0; n < 2; n++) await it.store.peers.checked(second.origin, 1_000)
      for (let n = 0; n < 5; n++) await it.store.peers.checked(used.origin, 1_000)
      it.federation.startWorkers()
      const { healthCheckQueue: queue } = it.federation
      await until(async () => (await queue.get(healthCheckId(fresh.origin, 0))) !== undefined, 'the first')
      await until(async () => (await queue.get(healthCheckId(second.origin, 2))) !== undefined, 'the second')
      assert.equal(await queue.get(healthCheckId(used.origin, 5)), undefined)
      assert.equal(await queue.get(healthCheckId(blocked.origin, 0)), undefined)
    })

    test('[worker origin] [step 6 origin] without an origin one error is logged, and each delivery fails', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      const keyring = keyringFromBase64(it.keys)
      const logger = {
        error: (data: object, message: string) => void it.log.push({ level: 'error', data: { ...data }, message }),
      }
      const federation = assemble(
        { profile: 'seed', storage: it.storage, store: it.store, keyring, http: world.http(), logger },
        undefined,
      )
      t.after(() => federation.stop({ graceMs: 0 }))
      federation.startWorkers()
      federation.startWorkers()
      assert.equal(linesOf(it, 'error', 'origin').length, 1)
      const job = await it.delivery(peer)
      await federation.deliveryQueue.add(job.name, job.data)
      await until(async () => (await it.row(job.id))?.status === 'failed', 'failed')
      const row = await it.row(job.id)
      assert.deepEqual([row?.lastError, row?.attempts], ['ORIGIN_MISSING', 1])
      await until(async () => (await federation.deliveryQueue.get(job.id))?.state === 'failed', 'not tried again')
      assert.equal(peer.delivered.length, 0)
      await assert.rejects(federation.follow({ followerId: 'a', followingId: 'b', serverUrl: peer.origin }), {
        code: 'ORIGIN_MISSING',
      })
    })

    test('[job] the fields of a job; its signal reaches the HTTP client', async (t) => {
      const seen: object[] = []
      const acks = { 'deliver-post': (context: object) => void seen.push(context) }
      const it = await bench(t, place, world, { acks })
      const peer = await it.peer()
      const payload = '{"method":"FEDERATE_POST"}'
      const job = await it.delivery(peer, { name: 'deliver-post', payload })
      const workers = it.federation.startWorkers()
      const failed: { job?: object | undefined }[] = []
      workers.deliveryWorker.on('failed', (attempt) => void failed.push(attempt))
      peer.onInbox = () => ({ status: 500, body: 'x' })
      await it.federation.deliveryQueue.add(job.name, job.data)
      await until(() => failed.length === 1, 'the first attempt')
      const { signal, ...given } = failed[0]!.job as { signal: AbortSignal }
      assert.ok(signal instanceof AbortSignal)
      assert.deepEqual(given, { id: job.id, name: 'deliver-post', data: job.data, attempt: 1, maxAttempts: 5 })
      peer.onInbox = () => peer.ack({ any: 1 })
      await bringForward(it.storage, job.id)
      await until(() => seen.length === 1, 'the second attempt')

      // Aborted: the request ends, the row is unchanged, and the peer is not marked.
      peer.mode = 'silent'
      const abort = new AbortController()
      const another = await it.delivery(peer, { signal: abort.signal })
      const count = peer.received.length
      const running = it.federation.processFederationDelivery(another)
      await until(() => peer.received.length > count, 'the request arrived')
      abort.abort(new Error('stopping'))
      await assert.rejects(running, { code: 'TRANSPORT' })
      const row = await it.row(another.id)
      assert.deepEqual([row?.status, row?.lastError], ['open', undefined])
      assert.equal((await it.store.peers.get(peer.origin))?.isHealthy, true)
    })

    test('[event ready] both workers log once that they are connected', async (t) => {
      const it = await bench(t, place, world)
      const { deliveryWorker, healthCheckWorker } = it.federation.startWorkers()
      await Promise.all([
        once(deliveryWorker as EventEmitter, 'ready'),
        once(healthCheckWorker as EventEmitter, 'ready'),
      ])
      assert.equal(linesOf(it, 'info', 'delivery worker is connected').length, 1)
      assert.equal(linesOf(it, 'info', 'health check worker is connected').length, 1)
    })

    test('[event error] an unreachable storage: one line per failure, and the jobs run when it is back', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      const job = await it.delivery(peer)
      await it.federation.deliveryQueue.add(job.name, job.data)
      const claim = it.storage.claim.bind(it.storage)
      let refusals = 0
      it.storage.claim = async (request) => {
        if (++refusals <= 2) throw new Error('the storage is away')
        return claim(request)
      }
      const { deliveryWorker } = it.federation.startWorkers()
      const errors: Error[] = []
      deliveryWorker.on('error', (error) => void errors.push(error))
      await until(() => peer.delivered.length === 1, 'delivered')
      const told = it.log.filter(({ level, message }) => level === 'error' && message.includes('worker met an error'))
      assert.ok(told.length >= 1)
      assert.equal(linesOf(it, 'error', 'the delivery worker met an error').length, errors.length)
      assert.ok(told.every(({ data }) => typeof data['error'] === 'string'))
    })

    test('[event failed] a line for every failed attempt, retried or not', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      it.federation.startWorkers()
      peer.onInbox = () => ({ status: 503, body: 'x' })
      const job = await it.delivery(peer, { targetUrl: `${peer.origin}/inbox?token=canary` })
      await it.federation.deliveryQueue.add(job.name, job.data)
      await until(() => linesOf(it, 'warn', 'a delivery failed').length === 1, 'the first')
      const first = linesOf(it, 'warn', 'a delivery failed')[0]!
      assert.equal(linesOf(it, 'warn', '').length, 1, 'the engine adds no line of its own')
      assert.deepEqual(first.data, {
        jobId: job.id,
        method: 'FEDERATE',
        target: `${peer.origin}/inbox`,
        attempt: 1,
        retriesLeft: 4,
        code: 'HTTP_STATUS',
        error: `delivery to ${peer.origin}: the server answered 503. It is retried while attempts are left.`,
      })
      peer.onInbox = () => ({ body: 'no JSON' })
      await bringForward(it.storage, job.id)
      await until(() => linesOf(it, 'warn', 'a delivery failed').length === 2, 'the second')
      const { data } = linesOf(it, 'warn', 'a delivery failed')[1]!
      assert.deepEqual([data['attempt'], data['retriesLeft'], data['code']], [2, 0, 'RESPONSE_NOT_JSON'])
      const names = it.events.map(({ name }) => name)
      assert.deepEqual(names, ['delivery_failing', 'delivery_failed'])

      const bad = await it.delivery(peer, { payload: 'no JSON' })
      await it.federation.deliveryQueue.add(bad.name, bad.data)
      await until(() => linesOf(it, 'warn', 'a delivery failed').length === 3, 'the third')
      assert.equal(linesOf(it, 'warn', 'a delivery failed')[2]!.data['method'], 'unknown')
    })

    test('[event completed] the row is deleted', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      it.federation.startWorkers()
      const job = await it.delivery(peer)
      await it.federation.deliveryQueue.add(job.name, job.data)
      await until(async () => (await it.row(job.id)) === undefined, 'the row is gone')
      await until(() => it.events.length > 0, 'reported')
      assert.deepEqual(it.events, [
        { name: 'delivered', data: { id: job.id, name: 'deliver-follow', origin: peer.origin, isProven: true } },
      ])
    })

    test('[event health failed] the id of the job and the message', async (t) => {
      const it = await bench(t, place, world)
      it.federation.startWorkers()
      await it.federation.healthCheckQueue.add('health-check', { serverUrl: 'nowhere' }, { id: 'h1' })
      await until(() => linesOf(it, 'warn', 'a health check failed').length === 1, 'reported')
      const { data } = linesOf(it, 'warn', 'a health check failed')[0]!
      assert.deepEqual([data['jobId'], data['code']], ['h1', 'ORIGIN_INVALID'])
      assert.equal(typeof data['error'], 'string')
    })

    test('[log secrets] [S21] canary keys and payloads are in no log line, event, error or row other than their own', async (t) => {
      const it = await bench(t, place, world)
      const payload = followPayload({ canary: 'canary-payload' })
      const peer = await it.peer({ known: false })
      const workers = it.federation.startWorkers()
      const errors: unknown[] = []
      workers.deliveryWorker.on('failed', ({ error }) => void errors.push(error))
      const replies = [
        () => ({ status: 500, body: 'canary-reply' }),
        () => ({ body: 'canary-reply' }),
        () => ({ body: { method: 'PROXY_RESPONSE', data: { canary: 'canary-reply' }, signature: 'canary-reply' } }),
        () => peer.ack(payload, { signature: 'canary-reply' }),
        () => peer.followAck(payload),
      ]
      for (const [index, reply] of replies.entries()) {
        peer.onInbox = reply
        const given = { payload, targetUrl: `${peer.origin}/inbox?secret=canary-query` }
        const job = await it.delivery(peer, given)
        await it.federation.deliveryQueue.add(job.name, job.data)
        await until(() => peer.delivered.length === index + 1, 'delivered')
      }
      for (const text of ['{"canary-payload', 'canary-payload', '{"method":"canary-payload"}']) {
        const job = await it.delivery(peer, { payload: text })
        await it.federation.deliveryQueue.add(job.name, job.data)
      }
      await until(() => errors.length === 7 && it.events.some(({ name }) => name === 'delivered'), 'all ended')
      peer.mode = 'reset'
      await it.federation
        .processFederationDelivery(await it.delivery(peer, { payload }))
        .catch((error) => errors.push(error))
      const secrets = [it.keys.privateKey, it.keys.encryptionPrivateKey, it.keys.publicKey, peer.text.publicKey]
      const said = JSON.stringify([it.log, it.events]) + errors.map((error) => deep(error)).join('\n')
      for (const secret of ['canary-', ...secrets]) assert.ok(!said.includes(secret), `${secret} was logged`)
      // Only the payload is stored, in its job and its row.
      const list = { of: 'jobs', types: [deliveryType, healthCheckType], limit: 100 } as const
      const { items } = await it.storage.list(list)
      const parts = ['error', 'result', 'attempts'] as const
      const records = await it.storage.get(
        items.map(({ type, id }) => ({ type, id })),
        { parts },
      )
      const kept = records.map((record) => deep(record)).join('\n')
      const rows = await it.store.deliveries.list({ limit: 100 })
      const columns = JSON.stringify(rows.map((row) => ({ ...row, payload: '', targetUrl: '' })))
      for (const secret of ['canary-', ...secrets.slice(0, 2)]) {
        assert.ok(!kept.includes(secret), `${secret} is in a job`)
        assert.ok(!columns.includes(secret), `${secret} is in a row`)
      }
    })
  })
}

/** Everything in a value as text: causes of errors, and bytes decoded. */
function deep(value: unknown): string {
  const seen = new Set<unknown>()
  const walk = (item: unknown): string => {
    if (item instanceof Uint8Array) return Buffer.from(item).toString()
    if (item === null || typeof item !== 'object') return String(item)
    if (seen.has(item)) return ''
    seen.add(item)
    const own = item instanceof Error ? [item.message, item.stack, item.cause] : []
    return [...own, ...Object.values(item)].map(walk).join('\n')
  }
  return walk(value)
}
