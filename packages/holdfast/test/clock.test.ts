import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { generateId } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { systemClock, uuidV7 } from '../src/clock.ts'

const day = 86_400_000
const longest = 2 ** 31 - 1

/** The platform's timers and monotonic clock, moved by hand. A delay that is too long fires at once, as the real one does. */
function platform(t: TestContext) {
  let now = 1_000
  let armed: { at: number; callback: () => void; keepsAlive: boolean; unref: () => void } | undefined
  const delays: number[] = []
  const setTimer = (callback: () => void, ms: number): object => {
    delays.push(ms)
    const at = now + (ms > longest ? 1 : ms)
    const timer = { at, callback, keepsAlive: true, unref: () => void (timer.keepsAlive = false) }
    return (armed = timer)
  }
  t.mock.method(performance, 'now', () => now)
  t.mock.method(globalThis, 'setTimeout', setTimer as never)
  t.mock.method(globalThis, 'clearTimeout', (timer: unknown) => {
    if (timer === armed) armed = undefined
  })
  return {
    delays,
    get armed() {
      return armed
    },
    /** @param earlyMs how much too early timers fire */
    pass(ms: number, earlyMs = 0) {
      const until = now + ms
      while (armed && armed.at - earlyMs <= until) {
        const { at, callback } = armed
        armed = undefined
        now = Math.max(now, at - earlyMs)
        callback()
      }
      now = until
    },
  }
}

test('generateId makes a UUIDv7', () => {
  const before = Date.now()
  const id = generateId()
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  const at = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
  assert.ok(at >= before && at <= Date.now())
})

test('ids never repeat, and sort by the millisecond they were made in', () => {
  const ids = Array.from({ length: 10_000 }, () => generateId())
  assert.equal(new Set(ids).size, ids.length)
  const times = [0, 1, 255, 256, 65_535, 65_536, Date.now(), Date.now() + 1, 2 ** 47, 2 ** 48 - 1]
  const made = times.map((at, index) => uuidV7(at, Buffer.alloc(16, index % 2 ? 0 : 255)))
  assert.deepEqual(made, made.toSorted())
  assert.equal(uuidV7(2 ** 48 - 1, Buffer.alloc(16, 0)), 'ffffffff-ffff-7000-8000-000000000000')
  assert.equal(uuidV7(0, Buffer.alloc(16, 255)), '00000000-0000-7fff-bfff-ffffffffffff')
})

test('[trap 50] a timer of more than 2^31 - 1 ms is chained: it fires once, and not early', (t) => {
  const { delays, pass } = platform(t)
  let fired = 0
  systemClock.after(60 * day, () => fired++)
  for (let passed = 0; passed < 60; passed++) {
    assert.equal(fired, 0, `after ${passed} days`)
    pass(day)
  }
  assert.equal(fired, 1)
  assert.deepEqual(delays, [longest, longest, 60 * day - 2 * longest])
  pass(100 * day)
  assert.equal(fired, 1)
})

test('[trap 50] a chained timer can be cancelled in each of its parts', (t) => {
  const { delays, pass } = platform(t)
  for (const passedDays of [0, 10, 26, 50]) {
    const timer = systemClock.after(60 * day, () => assert.fail('it was cancelled'))
    pass(passedDays * day)
    timer.cancel()
    const armed = delays.length
    pass(100 * day)
    assert.equal(delays.length, armed)
  }
})

test('a timer of the platform that fires early is armed again', (t) => {
  const { pass } = platform(t)
  let fired = 0
  systemClock.after(100, () => fired++)
  pass(99.5, 0.5)
  assert.equal(fired, 0)
  pass(1)
  assert.equal(fired, 1)
})

test('0 and less fire soon, Infinity never', (t) => {
  const { delays, pass } = platform(t)
  let fired = 0
  for (const ms of [0, -5]) {
    systemClock.after(ms, () => fired++)
    pass(1)
  }
  assert.equal(fired, 2)
  assert.deepEqual(delays, [0, 0])
  const timer = systemClock.after(Infinity, () => assert.fail('never'))
  timer.cancel()
  assert.equal(delays.length, 2)
})

test('a timer holds the process open unless told otherwise, also in its later parts', (t) => {
  const bench = platform(t)
  systemClock.after(60 * day, () => {})
  assert.equal(bench.armed!.keepsAlive, true)
  systemClock.after(60 * day, () => {}, { keepsAlive: false })
  assert.equal(bench.armed!.keepsAlive, false)
  bench.pass(longest)
  assert.equal(bench.armed!.keepsAlive, false)
})

test('real timers do not fire early', async () => {
  await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      const [ms, before] = [index / 3, performance.now()]
      await new Promise<void>((resolve) => void systemClock.after(ms, resolve))
      assert.ok(performance.now() - before >= ms)
    }),
  )
})

test('random is in [0, 1)', () => {
  for (let count = 0; count < 1_000; count++) {
    const chance = systemClock.random()
    assert.ok(chance >= 0 && chance < 1)
  }
})

test('the fake clock stands until it is told to go on', async () => {
  const clock = fakeClock({ now: 5_000 })
  let fired = 0
  clock.after(10, () => fired++)
  assert.deepEqual([clock.now(), clock.monotonic(), clock.pending], [5_000, 0, 1])
  await clock.advance(9)
  assert.deepEqual([fired, clock.now(), clock.monotonic()], [0, 5_009, 9])
  await clock.advance(1)
  assert.deepEqual([fired, clock.now(), clock.pending], [1, 5_010, 0])
  await clock.advance(60 * day)
  assert.equal(fired, 1)
})

test('its timers fire in order, each at its time, those too that others set on the way', async () => {
  const clock = fakeClock({ now: 0 })
  const fired: string[] = []
  const note = (name: string) => () => void fired.push(`${name} at ${clock.now()}`)
  clock.after(20, note('b'))
  clock.after(10, () => {
    note('a')()
    clock.after(5, note('inner'))
    clock.after(0, note('at once'))
    void Promise.resolve().then(() => clock.after(1, note('of a promise')))
  })
  clock.after(20, note('c'))
  clock.after(40 * day, note('far'))
  clock.after(Infinity, note('never'))
  clock.after(15, note('cancelled')).cancel()
  await clock.advance(30)
  assert.deepEqual(fired, ['a at 10', 'at once at 10', 'of a promise at 11', 'inner at 15', 'b at 20', 'c at 20'])
  assert.equal(clock.pending, 1)
  await clock.advance(40 * day)
  assert.equal(fired.at(-1), `far at ${40 * day}`)
})

test('settle lets everything run that needs no time', async () => {
  const clock = fakeClock()
  const before = clock.now()
  let done = false
  clock.soon(() => void Promise.resolve().then(() => clock.soon(() => (done = true))))
  await clock.settle()
  assert.deepEqual([done, clock.now()], [true, before])
})

function drawn(seed?: number): unknown[] {
  const clock = fakeClock({ seed })
  return [clock.random(), clock.newId(), clock.random(), clock.newId()]
}

test('a run follows from its seed', () => {
  assert.deepEqual(drawn(), drawn())
  assert.deepEqual(drawn(7), drawn(7))
  assert.notDeepEqual(drawn(7), drawn(8))
  const clock = fakeClock({ seed: 3 })
  const numbers = Array.from({ length: 1_000 }, () => clock.random())
  assert.ok(numbers.every((number) => number >= 0 && number < 1))
  const mean = numbers.reduce((sum, number) => sum + number, 0) / numbers.length
  assert.ok(mean > 0.4 && mean < 0.6)
})

test('ids of the fake clock are UUIDv7 of its time', async () => {
  const clock = fakeClock({ now: 0x0123456789ab })
  assert.match(clock.newId(), /^01234567-89ab-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  await clock.advance(1)
  assert.match(clock.newId(), /^01234567-89ac-7/)
})

test('the end of a tick comes after promise reactions, also for a call at the end of a tick', async () => {
  const order: string[] = []
  const done = Promise.withResolvers<void>()
  systemClock.endOfTick!(() => {
    void Promise.resolve().then(() => order.push('reaction'))
    systemClock.endOfTick!(() => {
      order.push('end')
      done.resolve()
    })
  })
  await done.promise
  assert.deepEqual(order, ['reaction', 'end'])
})
