// Jobs that a worker holds ahead of a free slot: how many, for how long, and what becomes of them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClaimRequest } from 'holdfast/storage'
import { engineDefaults } from '../../../src/engine/defaults.ts'
import type { Attempt } from '../../../src/engine/work/attempt.ts'
import type { AttemptEnd } from '../../../src/engine/work/outcomes.ts'
import { completed, ids, workBench } from './bench.ts'

type Bench = ReturnType<typeof workBench>

/** Runs for so many ms; a job whose id starts with 'long' for a minute. */
const running =
  ({ clock }: Bench, ms: number) =>
  ({ job }: Attempt): Promise<AttemptEnd> =>
    new Promise((resolve) => clock.after(job.id.startsWith('long') ? 60_000 : ms, () => resolve(completed)))

const claimsOf = ({ line }: Bench): ClaimRequest[] =>
  line.calls.filter(({ verb }) => verb === 'claim').map(({ args }) => args[0] as ClaimRequest)

const startedIds = ({ started }: Bench): string[] => started.map(({ job }) => job.id)

/** A job that the storage has as in processing, and that did not start. */
async function heldOf(bench: Bench, all: readonly string[]): Promise<string[]> {
  const started = new Set(startedIds(bench))
  const states = await Promise.all(all.map((id) => bench.stateOf(id)))
  return all.filter((id, index) => states[index] === 'processing' && !started.has(id))
}

test('[P4] short handlers: jobs are claimed ahead, in few calls, and each runs once in its order', async (t) => {
  const bench = workBench(t)
  const all = ids(300)
  await bench.add(all)
  const worker = bench.worker({ prefetchMs: 20, run: running(bench, 1) })
  await worker.start()
  await bench.clock.advance(400)
  assert.deepEqual(startedIds(bench), all)
  for (const id of all) assert.equal(await bench.stateOf(id), 'completed')
  const ahead = claimsOf(bench).filter(({ worker: name }) => name.endsWith('+ahead'))
  assert.ok(ahead.length > 0)
  // What is held starts within 20 ms: 20 jobs of 1 ms at most.
  for (const { slots } of ahead) assert.ok(slots <= 20, `${slots} jobs were asked for`)
  // Free again within 2 s, if the worker dies.
  for (const { types } of ahead) assert.deepEqual(types, [{ type: 'default', leaseMs: 2_000, maxAttempts: undefined }])
})

test('[P5] without prefetch, an outcome is stored before the slot takes its next job', async (t) => {
  const bench = workBench(t)
  const all = ids(50)
  await bench.add(all)
  const before: (string | undefined)[] = []
  const worker = bench.worker({
    prefetchMs: false,
    run: async ({ job }) => {
      const previous = all[all.indexOf(job.id) - 1]
      if (previous) before.push(await bench.stateOf(previous))
      return completed
    },
  })
  await worker.start()
  while (before.length < all.length - 1) await bench.clock.advance(1)
  assert.deepEqual(new Set(before), new Set(['completed']))
  assert.ok(claimsOf(bench).every(({ worker: name }) => !name.endsWith('+ahead')))
})

test('[P4] with so many slots that claims are large anyway, nothing is claimed ahead', async (t) => {
  const bench = workBench(t)
  const all = ids(300)
  await bench.add(all)
  const worker = bench.worker({ prefetchMs: 20, concurrency: engineDefaults.prefetchBelow, run: running(bench, 1) })
  await worker.start()
  while (startedIds(bench).length < all.length) await bench.clock.advance(1)
  assert.ok(claimsOf(bench).every(({ worker: name }) => !name.endsWith('+ahead')))
})

test('[P4] what is held goes back without an attempt when a handler takes longer', async (t) => {
  const bench = workBench(t)
  const [before, after] = [ids(100), ids(50, 'after')]
  await bench.add([...before, 'long', ...after])
  const worker = bench.worker({ prefetchMs: 20, run: running(bench, 1) })
  await worker.start()
  while (!startedIds(bench).includes('long')) await bench.clock.advance(1)
  assert.notDeepEqual(await heldOf(bench, after), [], 'some were held behind it')
  await bench.clock.advance(21)
  assert.deepEqual(await heldOf(bench, after), [])
  for (const id of after) {
    const [record] = await bench.memory.get([{ type: 'default', id }])
    assert.deepEqual([record!.state, record!.failures], ['queued', 0])
  }
  // Another worker takes them, in their order.
  const other = bench.worker({ label: 'other', prefetchMs: false, run: running(bench, 1) })
  await other.start()
  await bench.clock.advance(1_000)
  assert.deepEqual(startedIds(bench), [...before, 'long', ...after])
})

test('[P4] [Q4.41] what is held goes back at stop, and does not run', async (t) => {
  const bench = workBench(t)
  const all = ids(400)
  await bench.add(all)
  const worker = bench.worker({ prefetchMs: 20, run: running(bench, 1) })
  await worker.start()
  while ((await heldOf(bench, all)).length === 0) await bench.clock.advance(1)
  const stopped = worker.stop({ graceMs: 1_000, afterAbortMs: 0 })
  const runs = startedIds(bench).length
  await bench.clock.advance(100)
  await stopped
  assert.equal(startedIds(bench).length, runs)
  assert.deepEqual(await heldOf(bench, all), [])
  const failures = (await bench.memory.get(all.map((id) => ({ type: 'default', id })))).map(
    (record) => record!.failures,
  )
  assert.deepEqual(new Set(failures), new Set([0]))
})

test('[P4] a job that is cancelled while it is held does not run', async (t) => {
  const bench = workBench(t)
  const all = ids(400)
  await bench.add(all)
  const worker = bench.worker({ prefetchMs: 20, run: running(bench, 1) })
  await worker.start()
  let held: string[] = []
  while (held.length === 0) {
    await bench.clock.advance(1)
    held = await heldOf(bench, all)
  }
  const id = held.at(-1)!
  await bench.memory.cancel([{ type: 'default', id }], { abort: true })
  await bench.clock.advance(1_000)
  assert.equal(await bench.stateOf(id), 'cancelled')
  assert.ok(!startedIds(bench).includes(id))
  assert.equal(startedIds(bench).length, all.length - 1)
})

test('[P1] what was held while the event loop was blocked is not started: its lease may be over', async (t) => {
  const bench = workBench(t)
  const all = ids(400)
  await bench.add(all)
  const worker = bench.worker({ prefetchMs: 20, run: running(bench, 1) })
  await worker.start()
  let held: string[] = []
  while (held.length === 0) {
    await bench.clock.advance(1)
    held = await heldOf(bench, all)
  }
  bench.block(3_000)
  await bench.clock.settle()
  const other = bench.worker({ label: 'other', prefetchMs: false, run: running(bench, 1) })
  await other.start()
  await bench.clock.advance(2_000)
  const runs = Map.groupBy(startedIds(bench), (id) => id)
  for (const id of held) assert.equal(runs.get(id)!.length, 1, `${id} ran ${runs.get(id)!.length} times`)
  assert.equal(runs.size, all.length)
})

test('[P4] long handlers: nothing is claimed ahead', async (t) => {
  const bench = workBench(t)
  await bench.add(ids(40))
  const worker = bench.worker({ prefetchMs: 20, run: running(bench, 15) })
  await worker.start()
  await bench.clock.advance(1_000)
  assert.equal(startedIds(bench).length, 40)
  assert.ok(claimsOf(bench).every(({ worker: name }) => !name.endsWith('+ahead')))
})

test('[P2] a job that was held is renewed once it runs: its lease is that of its type', async (t) => {
  const bench = workBench(t)
  const all = [...ids(100), 'long']
  await bench.add(all)
  const worker = bench.worker({ prefetchMs: 20, leaseMs: 30_000, run: running(bench, 1) })
  await worker.start()
  while (!startedIds(bench).includes('long')) await bench.clock.advance(1)
  await bench.clock.advance(5_000)
  const other = bench.worker({ label: 'other', prefetchMs: false, run: running(bench, 1) })
  await other.start()
  await bench.clock.advance(100_000)
  assert.equal(startedIds(bench).filter((id) => id === 'long').length, 1)
  assert.equal(await bench.stateOf('long'), 'completed')
})

test('[P3] with short leases nothing is claimed ahead', async (t) => {
  const bench = workBench(t)
  await bench.add(ids(100))
  const worker = bench.worker({ prefetchMs: 20, leaseMs: 2_000, run: running(bench, 1) })
  await worker.start()
  await bench.clock.advance(1_000)
  assert.equal(startedIds(bench).length, 100)
  assert.ok(claimsOf(bench).every(({ worker: name }) => !name.endsWith('+ahead')))
})
