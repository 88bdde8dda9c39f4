// The instants of checks and attempts, with a fake clock.

import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { type FakeClock, fakeClock } from 'holdfast/testing'
import { type Bench, bench } from './bench.ts'
import { sqlitePlace } from './sqlite-place.ts'
import { World } from './world.ts'

const world = await new World().start()
after(() => world.stop())

const minute = 60_000

const connector = (): never => {
  throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
}

/** Connections that fail at once, so that requests take no time. */
async function clockBench(t: TestContext): Promise<{ it: Bench; clock: FakeClock }> {
  const clock = fakeClock()
  const it = await bench(t, sqlitePlace, world, { clock, http: { ...world.http(), connector } })
  return { it, clock }
}

test('[check times] checks run at +5, +20, +45, +80 and +125 minutes, and then no more', async (t) => {
  const { it, clock } = await clockBench(t)
  const peer = await it.peer()
  it.federation.startWorkers()
  await clock.advance(1_000)
  await it.federation.markServerUnhealthy(peer.origin, 'CONN_REFUSED')
  const startedAt = clock.now()
  const checkedAt: number[] = []
  const { peers } = it.store
  const checked = peers.checked.bind(peers)
  t.mock.method(peers, 'checked', async (url: string, now: number) => {
    checkedAt.push((clock.now() - startedAt) / minute)
    return checked(url, now)
  })
  for (let n = 0; n < 260; n++) await clock.advance(minute)
  assert.deepEqual(checkedAt.map(Math.round), [5, 20, 45, 80, 125])
  const row = await it.store.peers.get(peer.origin)
  assert.deepEqual([row?.isHealthy, row?.healthCheckAttempts], [false, 5])
  // A delivery that fails later starts a new series.
  await it.federation.markServerUnhealthy(peer.origin, 'CONN_REFUSED')
  for (let n = 0; n < 6; n++) await clock.advance(minute)
  assert.equal(checkedAt.length, 6)
})

test('[option backoff] attempts run at +0, +5, +15, +35 and +75 s, and the row has the instant of the next', async (t) => {
  const { it, clock } = await clockBench(t)
  const peer = await it.peer()
  const { deliveryWorker } = it.federation.startWorkers()
  await clock.advance(1_000)
  const startedAt = clock.now()
  const failedAt: number[] = []
  const nextAt: (number | undefined)[] = []
  deliveryWorker.on('failed', async ({ id }) => {
    failedAt.push(clock.now() - startedAt)
    const row = await it.row(id)
    nextAt.push(row?.nextAttemptAt && row.nextAttemptAt - startedAt)
  })
  const job = await it.delivery(peer)
  await it.federation.deliveryQueue.add(job.name, job.data)
  for (let n = 0; n < 900; n++) await clock.advance(100)
  assert.deepEqual(
    failedAt.map((at) => Math.round(at / 1_000)),
    [0, 5, 15, 35, 75],
  )
  assert.deepEqual(
    nextAt.slice(0, 4).map((at) => Math.round(at! / 1_000)),
    [5, 15, 35, 75],
  )
  assert.equal((await it.row(job.id))?.status, 'failed')
})
