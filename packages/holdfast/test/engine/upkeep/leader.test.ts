import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { type FakeClock, fakeClock } from 'holdfast/testing'
import type { Clock } from '../../../src/clock.ts'
import { Leader } from '../../../src/engine/upkeep/leader.ts'
import { faulty } from '../../queue/faulty-storage.ts'

const key = ['lock']

function office() {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  const log: string[] = []
  return {
    clock,
    storage,
    log,
    async holder(): Promise<string | undefined> {
      const value = await storage.kv.get(key)
      return value && Buffer.from(value).toString()
    },
    candidate(id: string, own: { clock?: Clock; kv?: typeof storage.kv } = {}): Leader {
      return new Leader({
        kv: own.kv ?? storage.kv,
        key,
        id,
        clock: own.clock ?? clock,
        lockTTL: 3_000,
        renewalInterval: 1_000,
        acquireRetryInterval: 500,
        onAcquired: () => log.push(`${id} leads`),
        onLost: () => log.push(`${id} lost`),
        onError: (error) => log.push(`${id}: ${(error as Error).message}`),
      })
    },
  }
}

/** A clock whose timers do not fire while it is suspended; its time goes on. */
function suspendable(clock: FakeClock) {
  let suspended = false
  let late: (() => void)[] = []
  const own: Clock = {
    ...clock,
    after: (ms, callback) =>
      clock.after(ms, () => {
        if (suspended) late.push(callback)
        else callback()
      }),
  }
  return {
    clock: own,
    suspend: () => void (suspended = true),
    resume: () => {
      suspended = false
      for (const callback of late.splice(0)) callback()
    },
  }
}

test('the first one leads, and renews', async () => {
  const { clock, candidate, log } = office()
  const a = candidate('a')
  const b = candidate('b')
  await a.start()
  await b.start()
  await clock.advance(60_000)
  assert.equal(a.leads, true)
  assert.equal(b.leads, false)
  assert.equal(await a.confirm(), true)
  assert.equal(await b.confirm(), false)
  assert.deepEqual(log, ['a leads'])
  await a.stop()
  await b.stop()
})

test('stop() gives the lock up: another leads at its next try', async () => {
  const { clock, candidate, log, holder } = office()
  const a = candidate('a')
  const b = candidate('b')
  await a.start()
  await b.start()
  await a.stop()
  assert.equal(await holder(), undefined)
  await clock.advance(500)
  assert.deepEqual(log, ['a leads', 'a lost', 'b leads'])
  await b.stop()
  assert.equal(clock.pending, 0)
})

test('stop() while a try is under way gives up what it gains', async () => {
  const { clock, storage, candidate, holder } = office()
  const line = faulty(storage)
  line.on('kv.setIfAbsent', async (apply) => {
    const answer = await apply()
    await new Promise<void>((resolve) => void clock.after(100, resolve))
    return answer
  })
  const a = candidate('a', { kv: line.storage.kv })
  const starting = a.start()
  await clock.advance(10)
  assert.equal(await holder(), 'a')
  const stopped = a.stop()
  await clock.advance(1_000)
  await Promise.all([starting, stopped])
  assert.equal(a.leads, false)
  assert.equal(await holder(), undefined)
  assert.equal(clock.pending, 0)
})

test('after the death of a leader another leads within lockTTL + acquireRetryInterval', async () => {
  const { clock, storage, candidate, log } = office()
  const line = faulty(storage)
  const a = candidate('a', { kv: line.storage.kv })
  const b = candidate('b')
  await a.start()
  await b.start()
  await clock.advance(10_000)
  line.cut()
  await clock.advance(3_500)
  assert.equal(b.leads, true)
  assert.ok(log.includes('b leads'))
  await b.stop()
})

test('a leader that slept past its lock learns of it before it may act', async () => {
  const { clock, candidate, log } = office()
  const sleeper = suspendable(clock)
  const a = candidate('a', { clock: sleeper.clock })
  const b = candidate('b')
  await a.start()
  await b.start()
  sleeper.suspend()
  await clock.advance(4_000)
  assert.equal(b.leads, true)
  assert.equal(a.leads, true, 'it does not know yet')
  assert.equal(await a.confirm(), false)
  assert.deepEqual(log, ['a leads', 'b leads', 'a lost'])
  sleeper.resume()
  await clock.advance(10_000)
  assert.deepEqual([a.leads, b.leads], [false, true])
  await a.stop()
  assert.equal(await b.confirm(), true, 'the other’s lock is left alone')
  await b.stop()
})

test('a leader that cannot renew holds on until its lock is over, and not longer', async () => {
  const { clock, storage, candidate, log } = office()
  const line = faulty(storage)
  const a = candidate('a', { kv: line.storage.kv })
  await a.start()
  line.on('*', async () => {
    throw new Error('away')
  })
  await clock.advance(2_999)
  assert.deepEqual(log, ['a leads', 'a: away', 'a: away'])
  await clock.advance(1)
  assert.deepEqual(log, ['a leads', 'a: away', 'a: away', 'a: away', 'a lost'])
  assert.equal(a.leads, false)
  line.on('*', undefined)
  await clock.advance(500)
  assert.equal(a.leads, true)
  await a.stop()
})
