// How long things take while the storage is away, and after.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { StorageError } from 'holdfast'
import { clockBench, fate } from './clock-bench.ts'
import { failing, type Faulty } from './faulty-storage.ts'

describe('outages, to the millisecond', () => {
  test('[Q4.36] while claims fail: an error each, in growing pauses up to 5 s; then on', async (t) => {
    const { queue: newQueue, storage, line, now, to } = clockBench(t)
    const queue = newQueue()
    const [failedAt, startedAt]: [number[], number[]] = [[], []]
    queue.on('error', (error) => {
      assert.ok(error instanceof StorageError)
      failedAt.push(now())
    })
    queue.execute(() => startedAt.push(now()))
    line.on('claim', failing())
    await queue.start()
    await to(60_000)
    await newQueue({ storage }).enqueue('a', 1)
    await to(90_000)
    const gaps = failedAt.slice(1, 10).map((at, index) => at - failedAt[index]!)
    gaps.forEach((gap, index) => {
      const longest = Math.min(5_000, 50 * 2 ** index)
      assert.ok(gap >= Math.floor(longest / 2) && gap <= longest + 1, `${gap} ms after failure ${index + 1}`)
    })
    assert.deepEqual(startedAt, [])
    line.on('claim', undefined)
    await to(95_001)
    assert.equal(startedAt.length, 1)
    // And the next outage begins with short pauses again.
    line.on('claim', failing())
    failedAt.length = 0
    await newQueue({ storage }).enqueue('b', 1)
    await to(95_500)
    assert.ok(failedAt.length >= 3, `${failedAt.length} tries in half a second`)
  })

  test('[Q4.36] enqueue, cancel and reads that are not answered reject after 5 s, and no later', async (t) => {
    const { queue: newQueue, line, to } = clockBench(t)
    const queue = newQueue()
    await queue.start()
    line.cut()
    const calls = [
      queue.enqueue('a', 1),
      queue.cancel('a'),
      queue.getStatus('a'),
      queue.getResult('a'),
      queue.updateResultTTL('a', 1_000),
    ].map(fate)
    await to(4_999)
    assert.ok(calls.every(({ state }) => state === 'pending'))
    await to(5_000)
    assert.deepEqual(
      calls.map(({ error }) => (error as StorageError).maybeApplied),
      [true, true, false, false, true],
    )
  })

  test('[Q4.36] a call that cannot connect rejects after 5 s; start goes on until it can', async (t) => {
    const { queue: newQueue, line, to } = clockBench(t)
    line.cut()
    const queue = newQueue()
    const errors: Error[] = []
    queue.on('error', (error) => errors.push(error))
    const [enqueued, started] = [fate(queue.enqueue('a', 1)), fate(queue.start())]
    await to(5_000)
    assert.ok(enqueued.error instanceof StorageError && errors[0] instanceof StorageError)
    assert.equal(started.state, 'pending')
    line.mend()
    await to(10_000)
    assert.equal(started.state, 'fulfilled')
  })

  test('[Q4.36] what is worth repeating is repeated inside that time', async (t) => {
    const { queue: newQueue, line, to } = clockBench(t)
    const queue = newQueue()
    line.on('add', async () => {
      throw Object.assign(new Error('in a moment'), { transient: true })
    })
    const first = fate(queue.enqueue('a', 1))
    await to(5_000)
    assert.ok(first.error instanceof StorageError)
    assert.ok(line.count('add') > 5, `${line.count('add')} tries`)
    const second = fate(queue.enqueue('a', 1))
    await to(7_000)
    line.on('add', undefined)
    await to(8_100)
    assert.deepEqual(second.value, { status: 'queued' })
  })

  for (const [what, fail] of [
    ['does not answer', (line: Faulty) => line.cut()],
    ['fails', (line: Faulty) => line.on('*', failing())],
  ] as const) {
    for (const hint of [false, true]) {
      test(`[Q4.35] while the storage ${what} an outcome waits, and goes before all else${hint ? ', though a hint comes first' : ''}`, async (t) => {
        for (const seed of [1, 2, 3, 4, 5]) {
          const { queue: newQueue, storage, line, clock, to } = clockBench(t, seed)
          const queue = newQueue({ leaseMs: 1_000, visibilityTimeout: 2_000 })
          const runs: string[] = []
          queue.execute(async (job) => {
            runs.push(job.id)
            await new Promise<void>((resolve) => void clock.after(100, resolve))
            return job.attempts
          })
          const said: string[] = []
          for (const event of ['failing', 'failed', 'stalled', 'fenced'] as const)
            queue.on(event, () => said.push(event))
          queue.on('completed', (id) => said.push(`completed ${id}`))
          let errors = 0
          queue.on('error', () => errors++)
          await queue.start()
          await queue.enqueue('a', 1)
          await clock.settle()
          fail(line)
          // Long after its lease.
          await to(120_000)
          assert.ok(errors >= 2, `${errors} errors`)
          line.mend()
          line.on('*', undefined)
          if (hint) await newQueue({ storage }).enqueue('b', 1)
          await to(140_000)
          const expected = hint ? ['a', 'b'] : ['a']
          assert.deepEqual([runs, said], [expected, expected.map((id) => `completed ${id}`)])
          assert.equal(await queue.getResult('a'), 1)
        }
      })
    }
  }

  test('[Q4.36] execute after start while the storage is away: an error event, and it is tried until it works', async (t) => {
    const { queue: newQueue, line, to } = clockBench(t)
    const queue = newQueue()
    await queue.start()
    await queue.enqueue('a', 1)
    const errors: Error[] = []
    queue.on('error', (error) => errors.push(error))
    line.on('listen', failing(1, 2))
    const seen: string[] = []
    queue.execute((job) => seen.push(job.id))
    await to(10)
    assert.deepEqual([errors.length, seen], [1, []])
    await to(1_000)
    assert.deepEqual([errors.length, seen], [2, ['a']])
  })
})
