// explain(): each code by a scenario on each driver, with its sentence; and what of it the faces call.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, describe, test } from 'node:test'
import { createAdmin, MemoryStorage, Queue } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { reasonCodes } from '../../src/engine/explain/explanation.ts'
import { drivers } from '../drivers.ts'
import { isFull } from '../full-size.ts'
import { stopPostgres } from '../postgres-subject.ts'
import { stopPlaces } from '../redis-places.ts'
import { Bench, scenarios } from './explain-scenarios.ts'

after(stopPlaces)
after(stopPostgres)

/** What a driver answers is checked by the cases of the contract on each of them, in every run. */
const names = isFull ? ['memory', 'sqlite', 'file', 'redis', 'postgres'] : ['memory', 'sqlite']

for (const driver of names) {
  describe(`${driver}: explain`, () => {
    for (const { code, name, sentence, until, data, next, run } of scenarios) {
      test(`[F32] ${code}${name === undefined ? '' : `: ${name}`}`, async (t) => {
        const bench = new Bench(await drivers[driver]!())
        await bench.storage.connect()
        t.after(() => bench.close())
        await run(bench)
        const explanation = await bench.explain('a')
        const [decisive] = explanation.reasons
        assert.equal(decisive?.code, code)
        if (typeof sentence === 'string') assert.equal(decisive.sentence, sentence)
        else assert.match(decisive.sentence, sentence)
        assert.equal(decisive.until, until)
        if (data) assert.deepEqual(decisive.data, data)
        if (next !== undefined) assert.equal(explanation.next, next)
        assert.equal(explanation.id, 'a')
        assert.equal(explanation.state, code === 'not_found' ? 'not_found' : (await bench.admin.jobs.get(named))!.state)
      })
    }
  })
}

const named = { face: 'queue', name: 'mail', id: 'a' } as const

describe('explain', () => {
  test('[F32] every code has a scenario', () => {
    assert.deepEqual([...new Set(scenarios.map(({ code }) => code))].toSorted(), [...reasonCodes].toSorted())
  })

  test('every code has its row in docs/explain.md, and there is no other', async () => {
    const page = await readFile(new URL('../../../../docs/explain.md', import.meta.url), 'utf8')
    const [, table = ''] = page.split('\n## Codes\n')
    const rows = [...table.slice(0, table.indexOf('\nWhat to do')).matchAll(/^\| `(\w+)` \|/gm)].map(([, code]) => code)
    assert.deepEqual(rows, [...reasonCodes])
  })

  test('[F32] what only a person ends comes before what ends by itself, and that which ends last first', async (t) => {
    const bench = new Bench(await drivers.memory!())
    t.after(() => bench.close())
    await bench.storage.connect()
    const group = { key: 'g' }
    for (const [slowDown, delayMs] of [
      ['group', 20_000],
      ['type', 40_000],
    ] as const) {
      await bench.add(slowDown, { group: slowDown === 'group' ? group : { key: 'h' } })
      await bench.settle(await bench.run(), { kind: 'released', delayMs, slowDown })
    }
    await bench.add('a', { group })
    await bench.admin.pause({ face: 'queue', name: 'mail', group: 'g' })
    const shown = async () => {
      const { reasons, next } = await bench.explain('a')
      return { reasons: reasons.map(({ code, until }) => [code, until]), next }
    }
    const now = Date.UTC(2026, 0, 1)
    const slowed = [
      ['slowed_down', now + 40_000],
      ['slowed_down', now + 20_000],
    ]
    assert.deepEqual(await shown(), {
      reasons: [['paused', undefined], ['no_worker', undefined], ...slowed],
      next: undefined,
    })
    await bench.admin.resume({ face: 'queue', name: 'mail', group: 'g' })
    await bench.worker()
    assert.deepEqual(await shown(), { reasons: slowed, next: now + 40_000 })
  })

  test('[F32] a queue explains its own jobs, by the limits that its code declares', async () => {
    const clock = fakeClock()
    const storage = new MemoryStorage({ clock })
    await using mail = new Queue<string>({ storage, clock, name: 'mail', limits: { concurrency: 1 } })
    const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    mail.execute(() => {
      begun.resolve()
      return ended.promise
    })
    await mail.enqueue('b', 'x')
    await mail.enqueue('a', 'x')
    await mail.start()
    await begun.promise
    const { reasons } = await mail.explain('a')
    assert.equal(reasons[0]?.sentence, "queue 'mail' runs 1 of 1 jobs: the next one starts when one of them ends")
    assert.equal((await mail.explain('b')).reasons[0]?.code, 'running')
    assert.equal((await mail.explain('c')).state, 'not_found')
    await using admin = createAdmin({ storage, clock })
    assert.deepEqual(await admin.explain(named), await mail.explain('a'))
    ended.resolve()
  })

  test('a job without a name is refused', async () => {
    await using admin = createAdmin({ storage: new MemoryStorage() })
    await assert.rejects(admin.explain({ face: 'queue', name: 'mail', id: '' }), { code: 'INVALID_ARGUMENT' })
  })
})
