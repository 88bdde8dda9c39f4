import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LoopTurns } from '../src/loop-turns.ts'
import { passes } from './passes.ts'

test('a burst is spread over passes of the event loop, in the order of the calls', async () => {
  const loop = passes()
  const turns = new LoopTurns(loop.clock)
  const done: number[] = []
  for (let n = 0; n < 5; n++) void turns.take().then(() => done.push(n))
  for (let hop = 0; hop < 10; hop++) await undefined
  assert.equal(done.length, 2)
  await loop.next()
  assert.equal(done.length, 4)
  await loop.next()
  assert.deepEqual(
    done,
    Array.from({ length: 5 }, (_, n) => n),
  )
  await loop.next()
  assert.equal(loop.waiting, 0, 'nothing is left for the event loop to do')
})

test('work that has begun comes before work that begins', async () => {
  const loop = passes()
  const turns = new LoopTurns(loop.clock)
  const done: string[] = []
  for (const name of ['new 1', 'new 2', 'new 3', 'new 4']) void turns.take().then(() => done.push(name))
  for (const name of ['begun 1', 'begun 2', 'begun 3']) void turns.take('begun').then(() => done.push(name))
  for (let pass = 0; pass < 4; pass++) await loop.next()
  assert.deepEqual(done, ['new 1', 'new 2', 'begun 1', 'begun 2', 'begun 3', 'new 3', 'new 4'])
})

test('a call in a pass that has turns left waits for none', async () => {
  const loop = passes()
  const turns = new LoopTurns(loop.clock)
  for (let n = 0; n < 3; n++) void turns.take()
  await loop.next()
  let isTaken = false
  void turns.take().then(() => (isTaken = true))
  for (let hop = 0; hop < 10; hop++) await undefined
  assert.ok(isTaken)
})
