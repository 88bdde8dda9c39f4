// Messages that arrive together share a commit; none waits long for another one.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CommitGroups } from '../../src/inbound/commit-groups.ts'
import { passes } from '../passes.ts'

function groups() {
  const loop = passes()
  const made = new CommitGroups(loop.clock)
  const done: string[] = []
  const ready = async (name: string, coming = made.join()): Promise<void> => {
    await coming.ready()
    done.push(name)
  }
  return { made, pass: () => loop.next(), done, ready }
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('a message that is alone waits for nothing', async () => {
  const { done, ready, made } = groups()
  await ready('a')
  assert.deepEqual([done, made.coming], [['a'], 0])
})

test('the first waits for those on their way, and all may commit together', async () => {
  const { made, done, ready } = groups()
  const [b, c] = [made.join(), made.join()]
  void ready('a')
  void ready('b', b)
  await tick()
  assert.deepEqual(done, [])
  void ready('c', c)
  await tick()
  assert.deepEqual([done, made.coming], [['a', 'b', 'c'], 0])
})

test('nobody waits for one that was refused or asks the app, unless it comes back at once', async () => {
  const { made, pass, done, ready } = groups()
  const [refused, asking] = [made.join(), made.join()]
  void ready('a')
  asking.leave()
  refused.leave()
  // Leaving twice counts once.
  refused.leave()
  asking.comeBack()
  await pass()
  assert.deepEqual([done, made.coming], [[], 1])
  void ready('b', asking)
  await tick()
  assert.deepEqual(done, ['a', 'b'])

  const slow = made.join()
  void ready('c')
  slow.leave()
  await pass()
  assert.deepEqual(done, ['a', 'b', 'c'])
})

test('after some passes nobody waits any longer; later ones are the next group', async () => {
  const { made, pass, done, ready } = groups()
  made.join()
  void ready('a')
  let count = 0
  for (; done.length === 0 && count < 100; count++) await pass()
  assert.equal(count, 8)
  void ready('b')
  await pass()
  assert.deepEqual(done, ['a'])
  for (let n = 1; n < 8; n++) await pass()
  assert.deepEqual(done, ['a', 'b'])
})
