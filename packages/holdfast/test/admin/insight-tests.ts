// What the admin handle tells about the past and about jobs that belong together, the same on every driver: audit, history, replays, trees.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createAdmin, fail, Queue } from 'holdfast'
import { createClient, defineJobTypes } from 'holdfast/chains'
import { entryKey } from '../../src/engine/limits/stored-limits.ts'
import { type TestDriver, until } from '../queue/driver.ts'

async function opened(t: TestContext, driver: TestDriver) {
  const { storage, close } = await driver.open()
  const admin = createAdmin({ storage, by: 'ada' })
  const queue = new Queue<{ n: number }, number>({ storage, name: 'sums', maxAttempts: 2, backoff: 'none' })
  queue.execute(({ payload, attempts }) => {
    if (payload.n < 0) return fail('below zero')
    if (payload.n === 7 && attempts === 1) throw new Error('once')
    return payload.n + 1
  })
  t.after(async () => {
    await queue.stop({ graceMs: 0 })
    await admin.close()
    await close()
  })
  return { storage, admin, queue }
}

const job = (id: string) => ({ face: 'queue', name: 'sums', id })

const unreadable = (part: string): string =>
  `stored limits of queue 'sums' cannot be read (${part}), and are not in force`

export function insightTests(driver: TestDriver): void {
  test("[F33] doctor, 'limits_unreadable': stored limits, or a part of them, cannot be read and are not in force", async (t) => {
    const { storage, admin } = await opened(t, driver)
    const type = { face: 'queue', name: 'sums' }
    const sentences = async (): Promise<string[]> =>
      (await admin.doctor()).filter(({ code }) => code === 'limits_unreadable').map(({ sentence }) => sentence)
    await admin.limits.set(type, { concurrency: 3 })
    await admin.limits.set({ ...type, group: 'a' }, { limit: 1 })
    assert.deepEqual(await sentences(), [])
    const key = entryKey('queue.sums')
    const whole = Buffer.from((await storage.kv.get(key))!).toString()
    const damaged = async (text: string): Promise<string[]> => {
      await storage.kv.set(key, Buffer.from(text))
      return sentences()
    }
    assert.deepEqual(await damaged(whole.slice(0, -1)), [unreadable('the whole entry')])
    assert.deepEqual((await admin.limits.get(type)).effective, {})
    assert.deepEqual(await damaged('[]'), [unreadable('the whole entry')])
    assert.deepEqual(await damaged(whole.replace('"concurrency":3', '"concurrency":"3"')), [
      unreadable('what an operator set'),
    ])
    assert.deepEqual(await damaged(whole.replace('"limit":1', '"limit":-1')), [unreadable("those of group 'a'")])
    assert.deepEqual(await damaged('{"declared":{"limits":{}},"groups":7}'), [
      unreadable('what code declares, those of groups'),
    ])
    await admin.limits.set(type, { concurrency: 3 })
    assert.deepEqual(await sentences(), [])
  })

  test('[F43] audit: every write leaves an entry with its operator, the latest first, page by page', async (t) => {
    const { admin, queue } = await opened(t, driver)
    await queue.enqueue('a', { n: 1 }, { delayMs: 3_600_000 })
    const grace = admin.as('grace')
    await admin.jobs.cancel(job('a'))
    await grace.jobs.retry(job('a'))
    await grace.pause({ face: 'queue', name: 'sums' })
    await grace.limits.set({ face: 'queue', name: 'sums' }, { concurrency: 3 })
    await admin.bulk.cancel({ face: 'queue' }).result
    await admin.audit.record({ what: 'asked for everything', by: 'mallory', refused: true })
    await until(async () => (await admin.audit.list()).items.length === 6)
    const { items } = await admin.audit.list()
    assert.deepEqual(
      items.map(({ by, what }) => [by, what]).toSorted(),
      [
        ['ada', "cancelled 1 of 1 job ('a')"],
        ['ada', 'cancel ended: 1 of 1 jobs done, 0 skipped, 0 failed'],
        ['grace', "paused queue 'sums'"],
        ['grace', "retried 1 of 1 job ('a')"],
        ['grace', "set limits of queue 'sums'"],
        ['mallory', 'asked for everything'],
      ].toSorted(),
    )
    assert.deepEqual(
      items.map(({ at }) => at),
      items.map(({ at }) => at).toSorted((x, y) => y - x),
    )
    assert.deepEqual(items.filter(({ refused }) => refused).length, 1)
    const first = await admin.audit.list({ limit: 4 })
    const second = await admin.audit.list({ limit: 4, cursor: first.nextCursor })
    assert.deepEqual([...first.items, ...second.items], items)
    await assert.rejects(admin.audit.list({ limit: 0 }), { code: 'INVALID_ARGUMENT' })
    // The handle of another operator ends with the one that it was made of.
    await admin.close()
    await assert.rejects(grace.types(), { code: 'CLOSED' })
  })

  test('[F43] audit: entries of one millisecond have the order in which they were made', async (t) => {
    const { admin } = await opened(t, driver)
    const grace = admin.as('grace')
    const made = Array.from({ length: 30 }, (_, n) => `change ${n}`)
    await Promise.all(made.map((what, n) => (n % 2 === 0 ? admin : grace).audit.record({ what })))
    const { items } = await admin.audit.list()
    assert.deepEqual(items.map(({ what }) => what).toReversed(), made)
  })

  test('[F43] audit: a handle that is closed has written the entries of all that were made of it', async (t) => {
    const { storage } = await opened(t, driver)
    const admin = createAdmin({ storage })
    await Promise.all(['ada', 'bob', 'eve'].map((by) => admin.as(by).pause({ face: 'queue', name: `of ${by}` })))
    await admin.close()
    const reader = createAdmin({ storage })
    t.after(() => reader.close())
    const { items } = await reader.audit.list()
    assert.deepEqual(items.map(({ by }) => by).toSorted(), ['ada', 'bob', 'eve'])
  })

  test('[F43] add: a job of a queue, due when it is to be; an id that is taken changes nothing', async (t) => {
    const { admin, queue } = await opened(t, driver)
    const sums = { face: 'queue', name: 'sums' }
    await queue.start()
    const now = await admin.jobs.add(sums, { payload: { n: 1 } })
    assert.equal(now.status, 'added')
    await until(async () => (await queue.getStatus(now.id))?.state === 'completed')
    assert.equal((await admin.jobs.get(job(now.id)))?.result, 2)
    const later = { id: 'later', payload: { n: 2 }, delayMs: 3_600_000, priority: 5, group: 'tenant-7', maxAttempts: 4 }
    assert.deepEqual(await admin.jobs.add(sums, later), { status: 'added', id: 'later' })
    const found = await admin.jobs.get(job('later'))
    assert.deepEqual([found?.state, found?.priority, found?.group, found?.maxAttempts], ['scheduled', 5, 'tenant-7', 4])
    assert.deepEqual(await admin.jobs.add(sums, { id: 'later' }), { status: 'duplicate', id: 'later' })
    await assert.rejects(admin.jobs.add({ face: 'chain', name: 'x' }), { code: 'INVALID_ARGUMENT' })
    await assert.rejects(admin.jobs.add(sums, { id: '' }), { code: 'INVALID_ARGUMENT' })
    await assert.rejects(admin.jobs.add(sums, { runAt: 1, delayMs: 1 }), { code: 'INVALID_ARGUMENT' })
  })

  test('schedules.previewRule: the next instants of a rule that is not stored', async (t) => {
    const { admin } = await opened(t, driver)
    const slots = await admin.schedules.previewRule({ cron: '0 12 * * *', timeZone: 'Europe/Berlin' }, 3)
    assert.equal(slots.length, 3)
    assert.ok(slots.every(({ at, local }) => at > Date.now() && / 12:00:00 GMT\+[12]$/.test(local)))
    assert.equal((await admin.schedules.previewRule({ everyMs: 60_000 })).length, 5)
    await assert.rejects(admin.schedules.previewRule({ cron: 'never' }), { code: 'INVALID_ARGUMENT' })
    await assert.rejects(admin.schedules.previewRule({}), { code: 'INVALID_ARGUMENT' })
  })

  test('[F43] history: what workers did, by minute and by hour, added up over workers', async (t) => {
    const { storage, admin, queue } = await opened(t, driver)
    const other = new Queue<{ n: number }, number>({ storage, name: 'sums', maxAttempts: 1 })
    other.execute(({ payload }) => payload.n)
    await queue.start()
    for (const n of [1, 2, 7]) await queue.enqueueAndWait(`j${n}`, { n })
    await queue.enqueueAndWait('bad', { n: -1 }).catch(() => {})
    await queue.stop()
    await other.start()
    await other.enqueueAndWait('more', { n: 1 })
    await other.stop()
    for (const range of ['15m', '1h', '24h', '30d'] as const) {
      const { points, stepMs } = await admin.history(range)
      const sum = (key: 'completed' | 'retried' | 'failed'): number =>
        points.reduce((all, point) => all + point[key], 0)
      assert.deepEqual([sum('completed'), sum('retried'), sum('failed')], [4, 1, 1], range)
      assert.ok(points.every(({ at }, index) => index === 0 || at === points[index - 1]!.at + stepMs))
      const measured = points.filter(({ wait, run }) => wait && run)
      assert.ok(measured.length >= 1 && measured.every(({ wait }) => wait!.p50 <= wait!.p99))
    }
    const { points } = await admin.history('1h', { face: 'queue', name: 'none' })
    assert.ok(points.every(({ completed, failed }) => completed + failed === 0))
    await assert.rejects(admin.history('1y' as never), { code: 'INVALID_ARGUMENT' })
  })

  test('[F43] replay: a new job with the payload, or another one, and a link to the old', async (t) => {
    const { admin, queue } = await opened(t, driver)
    await queue.start()
    await queue.enqueueAndWait('bad', { n: -1 }, { search: { customer: 'c-1' } }).catch(() => {})
    const same = await admin.jobs.replay(job('bad'))
    const edited = await admin.jobs.replay(job('bad'), { payload: { n: 41 } })
    assert.ok(same.status === 'added' && edited.status === 'added')
    await until(async () => (await queue.getStatus(edited.id))?.state === 'completed')
    await until(async () => (await queue.getStatus(same.id))?.state === 'failed')
    const found = await admin.jobs.get(job(edited.id))
    assert.deepEqual(
      [found?.payload, found?.result, found?.search],
      [{ n: 41 }, 42, { customer: 'c-1', replayOf: 'bad' }],
    )
    assert.equal((await admin.jobs.get(job('bad')))?.state, 'failed')
    assert.deepEqual(await admin.jobs.replay(job('none')), { status: 'not_found' })
  })

  test('[F43] tree: a chain with the chains that it waits for, whichever of its jobs is asked for', async (t) => {
    const { storage, admin } = await opened(t, driver)
    const types = defineJobTypes<{
      part: { entry: true; input: number; output: number }
      whole: { entry: true; input: null; output: null; blockers: [{ typeName: 'part' }, { typeName: 'part' }] }
    }>()
    const client = await createClient({ storage, jobTypeRegistry: types })
    t.after(() => client.close())
    const { id } = await client.startJobChain({
      typeName: 'whole',
      input: null,
      startBlockers: async ({ startJobChain }) => [
        await startJobChain({ typeName: 'part', input: 1 }),
        await startJobChain({ typeName: 'part', input: 2 }),
      ],
    })
    const tree = await admin.jobs.tree({ face: 'chain', name: 'whole', id })
    assert.deepEqual(
      tree!.jobs.map(({ name, state, chainIndex, blockers }) => [name, state, chainIndex, blockers.length]).toSorted(),
      [
        ['part', 'queued', 0, 0],
        ['part', 'queued', 0, 0],
        ['whole', 'blocked', 0, 2],
      ],
    )
    assert.equal(tree!.truncated, false)
    const [blocker] = tree!.jobs.find(({ name }) => name === 'whole')!.blockers
    assert.deepEqual(await admin.jobs.tree(blocker!), tree)
    assert.equal(await admin.jobs.tree({ face: 'chain', name: 'whole', id: 'none' }), null)
    assert.deepEqual(await admin.jobs.replay(blocker!).then(({ status }) => status), 'added')
  })
}
