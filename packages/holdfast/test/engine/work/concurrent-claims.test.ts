// A worker with many slots, on a storage that serves two of its claims at once.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClaimRequest } from 'holdfast/storage'
import type { AttemptEnd } from '../../../src/engine/work/outcomes.ts'
import { completed, ids, workBench } from './bench.ts'

/** Claims are answered by hand. */
function heldClaims(t: Parameters<typeof workBench>[0]) {
  const bench = workBench(t, { claimsInFlight: 2 })
  const held: { readonly request: ClaimRequest; answer(): void; fail(): void }[] = []
  bench.line.on('claim', async (apply, { args }) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    held.push({
      request: args[0] as ClaimRequest,
      answer: resolve,
      fail: () => reject(new Error('the storage refused')),
    })
    await promise
    return apply()
  })
  return { ...bench, held }
}

test('two claims are under way, for half of the slots each, and never more jobs than slots', async (t) => {
  const { worker, add, clock, held, started } = heldClaims(t)
  const running: PromiseWithResolvers<AttemptEnd>[] = []
  await add(ids(300))
  const busy = worker({
    concurrency: 64,
    run: () => {
      running.push(Promise.withResolvers())
      return running.at(-1)!.promise
    },
  })
  const starting = busy.start()
  await clock.settle()
  assert.deepEqual(
    held.map(({ request }) => request.slots),
    [32],
  )
  held[0]!.answer()
  await starting
  await clock.settle()
  // The second half of the slots.
  assert.deepEqual(
    held.map(({ request }) => request.slots),
    [32, 32],
  )
  // What ends meanwhile does not wait for the answer.
  for (const run of running.splice(0, 20)) run.resolve(completed)
  await clock.settle()
  assert.deepEqual(held.map(({ request }) => [request.slots, request.outcomes?.length]).slice(1), [
    [32, 0],
    [20, 20],
  ])
  for (const run of running.splice(0, 5)) run.resolve(completed)
  await clock.settle()
  assert.equal(held.length, 3, 'a third claim waits for one of the two')
  held[2]!.answer()
  held[1]!.answer()
  await clock.settle()
  assert.ok(started.length - 25 <= 64)
  const asked = held.slice(3).reduce((sum, { request }) => sum + request.slots, 0)
  assert.ok(started.length - 25 + asked <= 64, `${started.length - 25} run and ${asked} are asked for`)
  const names = new Set(held.map(({ request }) => request.worker))
  assert.equal(names.size, held.length, 'each claim has a name of its own')
  for (const claim of held) claim.answer()
})

test('outcomes of a claim that failed are sent before anything is claimed', async (t) => {
  const { worker, line, add, clock, held, started } = heldClaims(t)
  await add(ids(64))
  const ended = Promise.withResolvers<void>()
  const starting = worker({ concurrency: 64, run: () => ended.promise.then(() => completed) }).start()
  await clock.settle()
  held[0]!.answer()
  await starting
  await clock.settle()
  held[1]!.answer()
  await clock.settle()
  assert.equal(started.length, 64)
  ended.resolve()
  await clock.settle()
  const [, , third] = held
  assert.ok(third!.request.outcomes!.length > 0)
  const before = held.length
  for (const claim of held.slice(2)) claim.fail()
  await clock.settle()
  await clock.advance(10_000)
  const after = line.calls.slice(line.calls.findIndex(({ verb }) => verb === 'settle')).map(({ verb }) => verb)
  assert.equal(after[0], 'settle')
  for (const claim of held.slice(before)) claim.answer()
  await clock.advance(10_000)
  for (const claim of held) claim.answer()
})

test('a few slots are claimed for by one', async (t) => {
  const { worker, add, clock, held } = heldClaims(t)
  await add(ids(100))
  const starting = worker({ concurrency: 9, run: async () => completed }).start()
  await clock.settle()
  held[0]!.answer()
  await starting
  await clock.settle()
  assert.deepEqual(
    held.map(({ request }) => request.slots),
    [9, 9],
  )
  for (const claim of held) claim.answer()
})

test('two empty answers that come together: one of the rounds still asks for the next due instant', async (t) => {
  const { worker, line, clock, held, add } = heldClaims(t)
  const starting = worker({ concurrency: 64, pollMs: Infinity }).start()
  await clock.settle()
  held[0]!.answer()
  await starting
  // A hint, and another while the claim that it led to is under way: two claims.
  await add(['first'], { delayMs: 60_000 })
  await clock.settle()
  await add(['second'], { delayMs: 60_000 })
  await clock.settle()
  assert.equal(held.length, 3, 'two claims are under way')
  const asked = line.count('nextDueAt')
  held[1]!.answer()
  held[2]!.answer()
  await clock.settle()
  assert.equal(line.count('nextDueAt'), asked + 1)
})
