// The same commands on all drivers, and several clients on one: `npm run conformance -- --with …` and `--concurrent` run more.

import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { after, test } from 'node:test'
import { testConcurrent } from '../../../conformance/src/model/concurrent.ts'
import { testDifferential } from '../../../conformance/src/model/differential.ts'
import { MemoryStorage } from '../../src/storage/memory/memory-storage.ts'
import type { CancelVerdict, JobRecord, Storage } from '../../src/storage/storage.ts'
import { drivers, withManualClock } from '../drivers.ts'
import { isFull, sized } from '../full-size.ts'
import { stopPostgres } from '../postgres-subject.ts'
import { stopPlaces } from '../redis-places.ts'

after(stopPlaces)
after(stopPostgres)

const seed = isFull ? Math.floor(Math.random() * 2 ** 31) : 1

test('the same histories on every driver have the same records and counts after each command', async (t) => {
  const names = ['memory', 'sqlite', 'file', 'redis', 'postgres']
  const create = Object.fromEntries(names.map((name) => [name, () => drivers[name]!()]))
  const { runs, commands, parted } = await testDifferential({ create, runs: sized(200, 3), seed })
  t.diagnostic(`differential: ${runs} histories, ${commands} commands, ${parted} parted, seed ${seed}`)
})

for (const driver of ['sqlite', 'file', 'redis', 'postgres']) {
  test(`${driver}: what three clients at a time are told is what some order of their calls gives`, async (t) => {
    const passesOver = driver === 'postgres'
    const runs = sized(200, passesOver ? 4 : 8)
    const done = await testConcurrent({ create: () => drivers[driver]!(), passesOver, runs, seed })
    t.diagnostic(`concurrent: ${driver}: ${JSON.stringify(done)}, seed ${seed}`)
  })
}

/** The memory driver, with one verb replaced. */
const broken = (change: (storage: Storage) => Partial<Storage>) => () =>
  withManualClock((clock) => {
    const storage = new MemoryStorage({ clock })
    const changed = change(storage)
    return new Proxy(storage as Storage, {
      get: (_, key) => {
        const own = (changed as Record<string | symbol, unknown>)[key]
        if (own !== undefined) return own
        const value: unknown = Reflect.get(storage, key)
        return typeof value === 'function' ? (value.bind(storage) as unknown) : value
      },
    })
  })

const waited = (record: JobRecord | undefined): boolean =>
  record !== undefined && ['queued', 'scheduled', 'failing'].includes(record.state)

test('a cancel that answers by an earlier read is found', async () => {
  const lookedBefore = broken((storage) => ({
    async cancel(jobs, options): Promise<CancelVerdict[]> {
      const before = await storage.get(jobs)
      await setImmediate()
      const verdicts = await storage.cancel(jobs, options)
      return verdicts.map((verdict, index) => (waited(before[index]) ? { verdict: 'cancelled' } : verdict))
    },
  }))
  await assert.rejects(testConcurrent({ create: lookedBefore, runs: 300, seed: 1 }), /no order explains/)
})

test('a driver that shows another record is found', async () => {
  const other = broken((storage) => ({
    get: async (jobs, options) =>
      (await storage.get(jobs, options)).map((record) => record && ({ ...record, seq: 5 } as unknown as JobRecord)),
  }))
  const create = { memory: drivers.memory!, other }
  await assert.rejects(testDifferential({ create, runs: 20, seed: 1 }), /memory and other differ after/)
})
