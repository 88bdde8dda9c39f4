// Peers that acknowledge everything, just before the deadline, do not take the slots of the others.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { fakeClock } from 'holdfast/testing'
import { bench, passing, until } from '../seed/bench.ts'
import { sqlitePlace } from '../seed/sqlite-place.ts'
import { type TestPeer, World } from '../seed/world.ts'

const world = await new World().start()
after(() => world.stop())

test('[G1] slow peers hold half of the slots, and a quick peer gets everything meanwhile', async (t) => {
  const clock = fakeClock()
  const policies = { delivery: { concurrency: 8 } }
  const it = await bench(t, sqlitePlace, world, { clock, profile: 'hardened', policies })
  const [first, second, quick] = [await it.peer(), await it.peer(), await it.peer()]
  /** Requests that wait for their reply. */
  let waiting: (() => void)[] = []
  let isSlow = true
  for (const peer of [first, second]) {
    peer.onInbox = async (plain) => {
      if (isSlow) await new Promise<void>((resolve) => void waiting.push(resolve))
      return peer.followAck(plain)
    }
  }
  const answer = (): void => {
    for (const reply of waiting) reply()
    waiting = []
  }
  t.after(() => {
    isSlow = false
    answer()
  })
  const enqueue = async (peer: TestPeer, count: number): Promise<void> => {
    for (let n = 0; n < count; n++) {
      const { name, data } = await it.delivery(peer)
      await it.federation.deliveryQueue.add(name, data)
    }
  }
  const delivered = (): number => it.events.filter(({ name }) => name === 'delivered').length
  await it.federation.start()
  await enqueue(first, 1)
  await enqueue(second, 1)
  await enqueue(quick, 1)
  await until(() => waiting.length === 2 && delivered() === 1, 'the first requests')
  await clock.advance(14_000)
  answer()
  await until(() => delivered() === 3, 'the first deliveries')

  await enqueue(first, 8)
  await enqueue(second, 8)
  await until(() => waiting.length === 4, 'the slots of slow peers')
  await enqueue(quick, 20)
  // A little time passes: the quick peer has so many deliveries that they begin at a distance.
  const passed = async (): Promise<boolean> => (await clock.advance(1), delivered() === 23)
  await until(passed, 'deliveries to the quick peer')
  assert.equal(waiting.length, 4)

  // Nothing is lost: what was held back follows.
  await passing(it, clock, () => (answer(), delivered() === 39))
  assert.equal(first.delivered.length + second.delivered.length, 18)
})
