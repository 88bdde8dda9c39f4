import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createInProcessWorker, defineJobTypes } from 'holdfast/chains'
import { createTasks } from 'holdfast/tasks'
import { healthHandler, MemoryStorage, Queue } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { type Health, healthOf } from '../../src/engine/health.ts'
import { faulty } from '../queue/faulty-storage.ts'

const source = (health: Health) => ({ health: () => health })
const get = async (handler: ReturnType<typeof healthHandler>, path: string, method = 'GET') => {
  const response = await handler(new Request(`http://localhost${path}`, { method }))
  return [response.status, response.body === null ? undefined : await response.json()] as const
}
const alive = async (health: Health): Promise<number> => (await get(healthHandler(source(health)), '/probes/live'))[0]
const state = { slots: 2, slotsUsed: 2, abandoned: 0, claimsFailingMs: 0, claimLateMs: 0 }

test('[F34] healthHandler: 200 if all are healthy, else 503 with every reason', async () => {
  const good = healthOf('a', true, 0, state)
  const bad = healthOf('b', true, 12_345, state)
  assert.deepEqual(await get(healthHandler(source(good)), '/ready'), [200, { ok: true, checks: [good] }])
  assert.deepEqual(await get(healthHandler(source(good), source(bad)), '/ready'), [
    503,
    { ok: false, checks: [good, bad] },
  ])
  assert.equal(bad.reasons[0]!.sentence, 'b: the storage has not answered for 12 s. Calls are retried.')
})

test('[F34] /live is red only if a restart helps', async () => {
  assert.equal(await alive(healthOf('a', false, 0, undefined)), 200)
  assert.equal(await alive(healthOf('a', true, 60_000, { ...state, claimsFailingMs: 60_000 })), 200)
  assert.equal(await alive(healthOf('a', true, 0, { ...state, abandoned: 1 })), 200)
  assert.equal(await alive(healthOf('a', true, 0, { ...state, abandoned: 2 })), 503)
  assert.equal(await alive(healthOf('a', true, 0, { ...state, claimLateMs: 10_000 })), 503)
})

test('[F34] a source that throws is not healthy; HEAD has no body; other methods are refused', async () => {
  const broken = healthHandler({ health: () => Promise.reject(new Error('boom')) })
  const [status, body] = await get(broken, '/ready')
  assert.equal(status, 503)
  assert.match(JSON.stringify(body), /health\(\) failed: boom/)
  assert.deepEqual(await get(healthHandler(), '/ready', 'HEAD'), [200, undefined])
  assert.deepEqual(await get(healthHandler(), '/ready', 'POST'), [405, undefined])
  assert.throws(() => healthHandler({} as never), { code: 'INVALID_ARGUMENT' })
})

test('[F34] a Queue: red before start and after stop, green between, red while the storage is away for 10 s', async () => {
  const clock = fakeClock()
  const line = faulty(new MemoryStorage({ clock, callTimeoutMs: 5_000 }))
  const queue = new Queue<number>({ storage: line.storage, name: 'mail', clock, concurrency: 3 })
  queue.on('error', () => {})
  assert.equal(queue.health().slots, 0)
  queue.execute(() => {})
  assert.equal(queue.health().slots, 3)
  const codes = (): string[] => queue.health().reasons.map(({ code }) => code)
  assert.deepEqual(codes(), ['not_started'])
  await queue.start()
  assert.deepEqual(queue.health(), {
    ok: true,
    name: "queue 'mail'",
    reasons: [],
    slotsUsed: 0,
    slots: 3,
    abandoned: 0,
  })
  const before = line.count()
  queue.health()
  assert.equal(line.count(), before)
  line.cut()
  await clock.advance(9_000)
  assert.deepEqual(codes(), [])
  await clock.advance(10_000)
  assert.deepEqual(codes(), ['storage_unavailable'])
  line.mend()
  await clock.advance(10_000)
  assert.deepEqual(codes(), [])
  const stopped = queue.stop({ graceMs: 0 })
  await clock.advance(1_000)
  await stopped
  assert.deepEqual(codes(), ['not_started'])
  assert.equal(queue.health().slots, 3)
})

test('[F34] workers of chains and tasks have a health, too', async () => {
  const storage = new MemoryStorage()
  const jobTypeRegistry = defineJobTypes<{ greet: { entry: true; input: string; output: string } }>()
  const worker = await createInProcessWorker({
    storage,
    jobTypeRegistry,
    workerId: 'w1',
    concurrency: 4,
    jobTypeProcessors: { greet: { process: ({ complete }) => complete(() => 'hello') } },
  })
  assert.deepEqual([worker.health().ok, worker.health().slots], [false, 4])
  await worker.start()
  assert.deepEqual(worker.health(), {
    ok: true,
    name: "worker 'w1'",
    reasons: [],
    slotsUsed: 0,
    slots: 4,
    abandoned: 0,
  })
  await worker.stop()
  assert.equal(worker.health().ok, false)

  await using tasks = createTasks({ storage })
  assert.equal(tasks.health().ok, false)
  await tasks.start()
  assert.deepEqual(tasks.health(), { ok: true, name: 'tasks', reasons: [], slotsUsed: 0, slots: 10, abandoned: 0 })
  await tasks.stop()
  assert.equal(tasks.health().ok, false)
})
