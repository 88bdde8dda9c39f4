import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeClock } from 'holdfast/testing'
import { Drains } from '../../src/peers/drains.ts'

/** Takes again and again, four at a time, as the slots of a peer do. Returns the deliveries that have begun. */
function drain(drains: Drains, origin: string, count: number): { begun: number } {
  const of = { begun: 0 }
  let left = count
  const slot = async (): Promise<void> => {
    while (left-- > 0) {
      await drains.take(origin)
      of.begun++
    }
  }
  for (let n = 0; n < 4; n++) void slot()
  return of
}

test('while another peer has deliveries, those of a drain begin at even distances, after a first burst', async () => {
  const clock = fakeClock()
  const drains = new Drains(clock)
  await drains.take('other')
  const back = drain(drains, 'back', 10_000)
  await clock.advance(0)
  assert.equal(back.begun, 8)
  for (let n = 1; n <= 10; n++) {
    await clock.advance(3)
    assert.equal(back.begun, 8 + n)
  }
  await clock.advance(3_000 - 30)
  assert.equal(back.begun, 8 + 1_000, 'more than 300 per second')
  let isTaken = false
  void drains.take('other').then(() => (isTaken = true))
  await clock.advance(0)
  assert.ok(isTaken, 'the other peer waits for nothing')
})

test('ten seconds after the last delivery to another peer, and with none at all, a drain goes at full speed', async () => {
  const clock = fakeClock()
  const drains = new Drains(clock)
  await drains.take('other')
  const back = drain(drains, 'back', 20_000)
  await clock.advance(9_990)
  assert.ok(back.begun < 4_000, `${back.begun}`)
  await clock.advance(50)
  assert.equal(back.begun, 20_000)
  const alone = drain(new Drains(clock), 'back', 20_000)
  await clock.advance(0)
  assert.equal(alone.begun, 20_000)
})

test('a drain at full speed makes room as soon as another peer has a delivery', async () => {
  const clock = fakeClock()
  const drains = new Drains(clock)
  const first = drain(drains, 'back', 1_000)
  await clock.advance(0)
  assert.equal(first.begun, 1_000)
  await drains.take('other')
  const second = drain(drains, 'back', 1_000)
  await clock.advance(30)
  assert.equal(second.begun, 10)
})

test('a drain that is slower than its pace, as on a busy machine, still begins no two at once', async () => {
  const clock = fakeClock()
  const drains = new Drains(clock)
  await drains.take('other')
  drain(drains, 'back', 20)
  await clock.advance(100)
  let begun = 0
  for (let n = 1; n <= 20; n++) {
    await drains.take('other')
    // Four slots become free together.
    for (let slot = 0; slot < 4; slot++) void drains.take('back').then(() => begun++)
    await clock.advance(0)
    assert.ok(begun <= 4 * n - 3, `${begun} of ${4 * n}`)
    await clock.advance(30)
    assert.equal(begun, 4 * n)
  }
})

test('drains share the pace of one, and each of many has at least 55 deliveries per second', async () => {
  const clock = fakeClock()
  const paced = async (count: number): Promise<number[]> => {
    const drains = new Drains(clock)
    await drains.take('other')
    const all = Array.from({ length: count }, (_, n) => drain(drains, `peer-${n}`, 10_000))
    await clock.advance(1_000)
    const before = all.map(({ begun }) => begun)
    await drains.take('other')
    await clock.advance(3_000)
    return all.map(({ begun }, n) => (begun - before[n]!) / 3)
  }
  for (const each of await paced(2)) assert.ok(each > 160 && each < 175, `${each}`)
  for (const each of await paced(20)) assert.ok(each >= 55 && each < 60, `${each}`)
})

test('a peer with a steady stream below that pace never waits', async () => {
  const clock = fakeClock()
  const drains = new Drains(clock)
  let begun = 0
  for (let n = 0; n < 1_000; n++) {
    await drains.take('other')
    void drains.take('busy').then(() => begun++)
    await clock.advance(4)
    assert.equal(begun, n + 1)
  }
})

test('few peers are kept', async () => {
  const clock = fakeClock()
  const drains = new Drains(clock)
  for (let n = 0; n < 25_000; n++) await drains.take(`peer-${n}`)
  assert.ok(drains.size <= 10_000, `${drains.size}`)
})
