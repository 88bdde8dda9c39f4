// What health() reads from a worker.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { healthOf } from '../../../src/engine/health.ts'
import { workBench } from './bench.ts'

test('[F34] a worker that idles, or runs a handler, is healthy', async (t) => {
  const { worker, clock, add } = workBench(t)
  const working = worker({ concurrency: 2 })
  await working.start()
  await add(['a'])
  await clock.advance(30_000)
  assert.deepEqual(working.state, { slots: 2, slotsUsed: 1, abandoned: 0, claimsFailingMs: 0, claimLateMs: 0 })
})

test('[F34] claims that fail for 10 s turn it red, and one that succeeds green', async (t) => {
  const { worker, line, clock } = workBench(t)
  const working = worker({ pollMs: 1_000 })
  await working.start()
  line.on('claim', () => Promise.reject(new Error('permission denied')))
  await clock.advance(2_000)
  const first = working.state.claimsFailingMs
  assert.ok(first > 0 && first <= 2_000, `${first} ms`)
  assert.ok(healthOf('w', true, 0, working.state).ok)
  await clock.advance(10_000)
  const { ok, reasons } = healthOf('w', true, 0, working.state)
  assert.equal(ok, false)
  assert.deepEqual(
    reasons.map(({ code }) => code),
    ['claims_failing'],
  )
  line.on('claim', undefined)
  await clock.advance(6_000)
  assert.equal(working.state.claimsFailingMs, 0)
})

test('[F34] a claim that is overdue by 10 s turns it red, until it comes', async (t) => {
  const { worker, clock, block } = workBench(t)
  const working = worker({ pollMs: 5_000 })
  await working.start()
  block(20_000)
  const { claimLateMs } = working.state
  assert.ok(claimLateMs >= 15_000, `${claimLateMs} ms`)
  assert.deepEqual(
    healthOf('w', true, 0, working.state).reasons.map(({ code }) => code),
    ['claims_late'],
  )
  await clock.advance(6_000)
  assert.equal(working.state.claimLateMs, 0)
})

test('[F34] a handler that goes on although its job was cancelled by force counts as abandoned', async (t) => {
  const { worker, memory, clock, add } = workBench(t)
  const working = worker({ concurrency: 2 })
  await working.start()
  await add(['a', 'b'])
  await clock.settle()
  assert.equal(working.state.abandoned, 0)
  await memory.cancel([{ type: 'default', id: 'a' }], { force: true })
  await clock.settle()
  assert.equal(working.state.abandoned, 1)
  const { reasons } = healthOf('w', true, 0, working.state)
  assert.deepEqual(reasons, [
    {
      code: 'handlers_abandoned',
      sentence: 'w: 1 of 2 handlers go on although their attempts are over. Let handlers end when their signal aborts.',
    },
  ])
})
