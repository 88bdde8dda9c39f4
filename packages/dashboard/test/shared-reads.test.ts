import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeClock } from 'holdfast/testing'
import { SharedReads } from '../src/server/shared-reads.ts'

test('no viewer waits for the next read of a slow storage: the answer before it is given with its time', async () => {
  const clock = fakeClock()
  const reads = new SharedReads(clock)
  let begun = 0
  const slow = async (): Promise<number> => {
    const number = ++begun
    await new Promise<void>((resolve) => clock.after(200, () => resolve()))
    return number
  }
  const first = reads.read('counts', 5_000, slow)
  await clock.advance(200)
  const { value, at, costMs } = await first
  assert.deepEqual([value, costMs], [1, 200])
  // Old by now.
  await clock.advance(6_000)
  assert.deepEqual(await reads.read('counts', 5_000, slow), { value, at, costMs })
  assert.deepEqual(await reads.read('counts', 5_000, slow), { value, at, costMs })
  assert.equal(begun, 2)
  await clock.advance(200)
  assert.equal((await reads.read('counts', 5_000, slow)).value, 2)
  // After a minute without a viewer the answer is too old to be shown.
  await clock.advance(60_000)
  const late = reads.read('counts', 5_000, slow)
  await clock.advance(200)
  assert.equal((await late).value, 3)
})

test('the failure of a read behind an old answer is shown to those who ask next', async () => {
  const clock = fakeClock()
  const reads = new SharedReads(clock)
  const delayed = (fails: boolean) => async (): Promise<string> => {
    await new Promise<void>((resolve) => clock.after(100, () => resolve()))
    if (fails) throw new Error('gone')
    return 'well'
  }
  const first = reads.read('counts', 1_000, delayed(false))
  await clock.advance(100)
  assert.equal((await first).value, 'well')
  await clock.advance(5_000)
  assert.equal((await reads.read('counts', 1_000, delayed(true))).value, 'well')
  await clock.advance(100)
  const next = assert.rejects(reads.read('counts', 1_000, delayed(true)), /gone/)
  await clock.advance(100)
  await next
})
