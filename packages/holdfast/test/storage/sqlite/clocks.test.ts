// Two storages whose clocks differ by an hour. The processes of one machine share its clock. A clock that is wrong, or is
// corrected, may only make jobs run early or late: no job is stuck, and none runs twice.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/clock.ts'
import { defaultType } from '../../../src/storage/stored-type.ts'
import { bench, completed, newJob } from './bench.ts'
import { checkTables, inspect } from './check-tables.ts'

const hour = 3_600_000
const shifted = (ms: number) => ({ ...systemClock, now: () => Date.now() + ms })
const types = [{ type: defaultType, leaseMs: 30_000 }]

for (const [name, producerMs, workerMs] of [
  ['a producer an hour ahead', hour, 0],
  ['a producer an hour behind', -hour, 0],
  ['a worker an hour ahead', 0, hour],
  ['a worker an hour behind', 0, -hour],
] as const) {
  test(`[T1] ${name}: every job runs once, and the fence holds`, async (t) => {
    const { open } = bench(t)
    const producer = await open({ clock: shifted(producerMs) })
    let later = workerMs
    const worker = await open({ clock: { ...systemClock, now: () => Date.now() + later } })
    const ids = Array.from({ length: 10 }, (_, index) => `${index}`)
    const group = { key: 'g', ordered: true } as const
    await producer.add(ids.map((id, index) => newJob(id, { group: index % 2 ? group : undefined })))
    const done: string[] = []
    for (let turn = 0; turn < 40 && done.length < ids.length; turn++) {
      const { jobs } = await worker.claim({ worker: `w${turn}`, slots: 3, types })
      const verdicts = await worker.settle(jobs.map(completed))
      assert.ok(verdicts.every(({ verdict }) => verdict === 'settled'))
      done.push(...jobs.map(({ id }) => id))
      // A job that is due for the producer may not be due for the worker yet.
      if (jobs.length === 0) later += hour / 2
    }
    assert.deepEqual(done.toSorted(), ids)
    await inspect(worker, checkTables)
  })
}

test('[T2] the clock jumps an hour ahead: leases run out and the late worker is refused; it jumps back: no job is stuck', async (t) => {
  const { open } = bench(t)
  let shift = 0
  const clock = { ...systemClock, now: () => Date.now() + shift }
  const storage = await open({ clock })
  await storage.add([newJob('a'), newJob('b')])
  const first = await storage.claim({ worker: 'first', slots: 2, types })
  shift = hour
  const second = await storage.claim({ worker: 'second', slots: 2, types })
  assert.equal(second.recovered.length, 2)
  assert.deepEqual(
    (await storage.settle(first.jobs.map(completed))).map(({ verdict }) => verdict),
    ['taken_by_another_worker', 'taken_by_another_worker'],
  )
  shift = 0
  const [extended] = await storage.extend(second.jobs.map((job) => ({ ...job, leaseMs: 30_000 })))
  assert.equal(extended!.verdict, 'extended')
  assert.ok((await storage.settle(second.jobs.map(completed))).every(({ verdict }) => verdict === 'settled'))
  await storage.add([newJob('c')])
  assert.deepEqual(
    (await storage.claim({ worker: 'third', slots: 5, types })).jobs.map(({ id }) => id),
    ['c'],
  )
  await inspect(storage, checkTables)
})
