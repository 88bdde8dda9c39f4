// admin.schedules: those of every face, with face, owner and name.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createAdmin, MemoryStorage, Queue } from 'holdfast'
import { createClient, defineJobTypes } from 'holdfast/chains'
import { fakeClock } from 'holdfast/testing'

const [minute, hour] = [60_000, 3_600_000]

describe('admin.schedules', () => {
  test('lists the schedules of every face, and changes each by face, owner and name', async () => {
    const clock = fakeClock()
    const storage = new MemoryStorage({ clock })
    const logged: [object, string][] = []
    const logger = { info: (data: object, message: string) => void logged.push([data, message]) }
    await using admin = createAdmin({ storage, clock, by: 'ada', logger })
    await using mail = new Queue<string>({ storage, clock, name: 'mail' })
    await using client = await createClient({
      storage,
      clock,
      jobTypeRegistry: defineJobTypes<{ report: { entry: true; input: { day: string }; output: null } }>(),
    })
    await mail.schedules.put('daily', { payload: 'hello', cron: '@daily', search: { kind: 'x' } })
    await client.schedules.put('daily', { typeName: 'report', input: { day: 'today' }, everyMs: hour })
    const shown = (await admin.schedules.list()).map(({ face, owner, name, typeName, payload, cron, everyMs }) => {
      return { face, owner, name, typeName, payload, rule: cron ?? everyMs }
    })
    assert.deepEqual(
      shown.toSorted((a, b) => a.face.localeCompare(b.face)),
      [
        { face: 'chain', owner: '', name: 'daily', typeName: 'report', payload: { day: 'today' }, rule: hour },
        { face: 'queue', owner: 'mail', name: 'daily', typeName: 'mail', payload: 'hello', rule: '@daily' },
      ],
    )
    const [ofQueue] = await admin.schedules.list({ owner: 'mail' })
    const [ofChains] = await admin.schedules.list({ face: 'chain' })
    // As it was listed.
    assert.equal(await admin.schedules.pause(ofQueue!), true)
    assert.deepEqual((await mail.schedules.list())[0]!.paused, { since: clock.now(), by: 'ada' })
    assert.equal(await admin.schedules.resume({ face: 'queue', owner: 'mail', name: 'daily' }), true)
    await admin.schedules.put(ofQueue!, { everyMs: minute })
    const [changed] = await mail.schedules.list()
    assert.deepEqual([changed!.payload, changed!.everyMs, changed!.cron], ['hello', minute, undefined])
    const id = await admin.schedules.fire(ofChains!)
    assert.deepEqual((await client.getJobChain({ typeName: 'report', id }))!.input, { day: 'today' })
    assert.equal((await admin.schedules.preview(ofChains!)).length, 5)
    assert.equal(await admin.schedules.remove(ofChains!), true)
    assert.deepEqual(await client.schedules.list(), [])
    assert.deepEqual(
      logged.map(([data, message]) => [data, message]),
      ['paused', 'resumed', 'changed', 'fired', 'removed'].map((what) => {
        const owner = what === 'fired' || what === 'removed' ? 'chain.' : 'queue.mail'
        return [{ by: 'ada' }, `admin: ${what} schedule 'daily' of ${owner}`]
      }),
    )
  })

  test('an unknown schedule and wrong arguments are refused', async () => {
    const storage = new MemoryStorage()
    await using admin = createAdmin({ storage })
    const unknown = { face: 'queue', owner: 'mail', name: 'x' }
    assert.deepEqual(await admin.schedules.list(), [])
    assert.equal(await admin.schedules.remove(unknown), false)
    await assert.rejects(admin.schedules.fire(unknown), { code: 'SCHEDULE_NOT_FOUND' })
    await assert.rejects(admin.schedules.put(unknown, { everyMs: minute }), { code: 'SCHEDULE_NOT_FOUND' })
    for (const wrong of [undefined, {}, { face: 'queue', owner: 'mail' }, { ...unknown, name: '' }]) {
      await assert.rejects(admin.schedules.pause(wrong as never), { code: 'INVALID_ARGUMENT' })
    }
    await assert.rejects(admin.schedules.put(unknown, {}), { code: 'INVALID_ARGUMENT' })
    await admin.close()
    await assert.rejects(admin.schedules.list(), { code: 'CLOSED' })
  })

  test('runs() has the slots around now, those before it with what became of their jobs', async () => {
    const clock = fakeClock()
    const storage = new MemoryStorage({ clock })
    await using admin = createAdmin({ storage, clock })
    await using mail = new Queue<string>({ storage, clock, name: 'mail', resultTTL: 24 * hour })
    mail.execute(async () => {})
    await mail.start()
    await mail.schedules.put('hourly', { payload: 'hello', everyMs: hour })
    for (let n = 0; n < 3; n++) await clock.advance(hour)
    const listed = await admin.schedules.list()
    const now = clock.now()
    const slot = (n: number): number => (Math.floor(now / hour) + n) * hour
    const [runs] = await admin.schedules.runs(listed, { spanMs: 5 * hour, most: 4 })
    assert.deepEqual(
      runs!.past.map(({ at, state }) => [at, state]),
      [
        [slot(-2), 'completed'],
        [slot(-1), 'completed'],
        [slot(0), 'completed'],
      ],
    )
    assert.deepEqual(
      runs!.next.map(({ at, state }) => [at, state]),
      [1, 2, 3, 4].map((n) => [slot(n), undefined]),
    )
    const last = runs!.past.at(-1)!
    assert.ok((await admin.jobs.get({ face: 'queue', name: 'mail', id: last.id })) !== null)
    assert.ok(last.finishedAt! >= last.startedAt! && last.startedAt! >= last.at)
    // A day has few slots of a rule that fires seldom, and many of one that fires often.
    const rules = [{ everyMs: 30 * 24 * hour }, { everyMs: 1_000 }]
    const both = await admin.schedules.runs(rules.map((rule) => ({ ...listed[0]!, ...rule, since: 0 })))
    assert.deepEqual(
      both.map(({ past, next }) => [past.length <= 1, next.length <= 1]),
      [
        [true, true],
        [false, false],
      ],
    )
    assert.deepEqual([both[1]!.past.length, both[1]!.next.length], [48, 48])
    assert.deepEqual(await admin.schedules.runs([]), [])
  })
})
