// list by creation: bounded by the sets of the wanted states, and by a number of jobs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JobState, NewJob } from 'holdfast/storage'
import { claim, ended, job } from './every-verb.ts'
import { openStorage } from './storage-fixture.ts'

const hour = 3_600_000

test('[F31] a list by creation of one state reads only the jobs in it, and the records of the page', async (t) => {
  const { storage, commandsOf } = await openStorage(t)
  await storage.add(Array.from({ length: 20 }, (_, n) => job(`ended ${n}`, {}, hour)))
  await storage.settle((await claim(storage)).map((each) => ended(each, 'completed')))
  await storage.add(Array.from({ length: 30 }, (_, n) => job(`waiting ${n}`, {}, hour)))
  const commands = await commandsOf(() => storage.list({ of: 'jobs', states: ['completed'], limit: 5 }))
  const sent = (name: string): string[] => commands.filter((command) => command.startsWith(`"${name}"`))
  assert.equal(sent('GETRANGE').length, 20)
  assert.ok(sent('GET').length <= 50 && sent('GET').every((command) => command.includes('ended')), sent('GET').join())
})

test('[F31] of more than 100,000 jobs the newest ends are read, and the list is truncated', async (t) => {
  const { storage, direct } = await openStorage(t)
  const ids = ['a', 'b', 'c']
  for (const id of ids) await storage.add([job(id, {}, hour)])
  await storage.settle((await claim(storage)).map((each) => ended(each, 'completed')))
  const query = { of: 'jobs', types: ['mail'], states: ['completed'], limit: 10 } as const
  assert.equal((await storage.list(query)).truncated, undefined)
  // Entries whose records are gone: the work is the same, and the test is fast.
  const { now } = await storage.count({})
  for (let from = 0; from < 100_000; from += 10_000) {
    const entries = Array.from({ length: 10_000 }, (_, n) => [String(now + hour / 2), `gone ${from + n}`]).flat()
    await direct.send('ZADD', '{p}:mail:done:5', ...entries)
  }
  const newest = await storage.list(query)
  assert.deepEqual([newest.items.map(({ id }) => id).toSorted(), newest.truncated], [ids, true])
  const oldest = await storage.list({ ...query, order: 'asc' })
  assert.deepEqual(oldest, { items: [], truncated: true })
})

test('a page of the newest 1,000 waiting chains takes as many commands among 40,000 as among 10,000', async (t) => {
  const { storage, commandsOf, setTime } = await openStorage(t, { manualTime: true })
  const counts = []
  let at = 1_767_225_600_000
  for (const size of [10_000, 30_000]) {
    for (let left = size; left > 0; left -= 1_000) {
      await setTime(at++)
      await storage.add(Array.from({ length: 1_000 }, (_, n) => job(`${left - n} of ${size}`)))
    }
    const query = { of: 'chains', types: ['mail'], limit: 1_000, parts: ['payload'] } as const
    // The first list of jobs that were added together takes their entries apart, once.
    await storage.list(query)
    const commands = await commandsOf(async () => {
      const { items } = await storage.list(query)
      assert.ok(items.length === 1_000 && items.every(({ createdAt }) => createdAt === at - 1))
    })
    counts.push(commands.length)
    // Each record is read once.
    assert.equal(commands.filter((command) => /^"GET" "[^"]*:job:/.test(command)).length, 1_001)
  }
  assert.equal(counts[1], counts[0])
})

for (const order of ['asc', 'desc'] as const) {
  test(`${order}: jobs are listed by their creation, once each, whatever the order of their sets`, async (t) => {
    const { storage, setTime } = await openStorage(t, { manualTime: true })
    const start = 1_767_225_600_000
    const ids: string[] = []
    // More than one call reads. Old jobs are due late, continuations are no chains.
    for (let round = 0; round < 25; round++) {
      await setTime(start + round)
      const jobs = Array.from({ length: 250 }, (_, n) => {
        const id = `${round}/${n}`
        return job(id, n % 3 === 0 ? { delayMs: 1_000 * (100 - round) } : n % 50 === 1 ? { priority: 1 } : {}, hour)
      })
      ids.push(...jobs.map(({ id }) => id))
      await storage.add(jobs)
      const next = job(`next of ${round}`, {}, hour)
      const [first, second] = await claim(storage, 2)
      const { type, id, worker, attempt } = first!
      await storage.settle([{ type, id, worker, attempt, kind: 'continued', next, add: [] }, ended(second!, 'failed')])
    }
    const seen: { readonly id: string; readonly createdAt: number }[] = []
    for (let cursor: string | undefined; ;) {
      const page = await storage.list({ of: 'chains', order, limit: 600, ...(cursor !== undefined && { cursor }) })
      seen.push(...page.items)
      cursor = page.nextCursor
      if (cursor === undefined) break
    }
    assert.deepEqual(seen.map(({ id }) => id).toSorted(), ids.toSorted())
    const instants = seen.map(({ createdAt }) => createdAt)
    assert.deepEqual(
      instants,
      instants.toSorted((a, b) => (order === 'asc' ? a - b : b - a)),
    )
  })
}

const typeName = (n: number): string => `t${n % 3 === 0 ? ':' : ''}${n}`
const newest = (page: { readonly items: readonly { readonly id: string }[] }): string[] =>
  page.items.map(({ id }) => id).toSorted()

test('of many types a bounded page reads those whose last jobs are the newest, also where jobs are listed together', async (t) => {
  const { storage, setTime, commandsOf } = await openStorage(t, { manualTime: true })
  const start = 1_767_225_600_000
  const [types, perType, retention] = [300, 6, 100 * hour]
  const added: { readonly id: string; readonly at: number }[] = []
  // Types get their jobs one after the other, in an order that is not that of their names; later ones wait, earlier ones have ended.
  for (let round = 0; round < types; round++) {
    const [type, at] = [typeName((round * 7) % types), start + round * 1_000]
    await setTime(at)
    const ids = Array.from({ length: perType }, (_, n) => `${round}/${n}`)
    await storage.add(ids.map((id) => job(id, { type }, retention)))
    added.push(...ids.map((id) => ({ id, at })))
    if (round >= 250) continue
    const { jobs } = await storage.claim({ worker: `w${round}`, slots: perType, types: [{ type, leaseMs: hour }] })
    if (round >= 240) continue
    await storage.settle(jobs.map((each) => ended(each, round % 4 === 0 ? 'failed' : 'completed')))
  }
  const of = (first: number, end: number, every = 1): string[] =>
    added
      .filter(({ id }) => {
        const round = Number.parseInt(id, 10)
        return round >= first && round < end && round % every === 0
      })
      .map(({ id }) => id)
      .toSorted()
  const query = { of: 'jobs', by: 'created', maxScanned: 500, limit: 60 } as const
  const commands = await commandsOf(async () => {
    const page = await storage.list(query)
    assert.deepEqual([newest(page), page.truncated], [of(290, 300), true])
  })
  assert.ok(commands.length < 15 * types, `${commands.length} commands`)
  for (const [state, ids] of [
    ['queued', of(290, 300)],
    ['processing', of(240, 250)],
    ['failed', of(204, 240, 4).concat(of(200, 201)).toSorted()],
  ] as const) {
    const page = await storage.list({ ...query, states: [state] })
    // Of failed jobs the last sixty are those of every fourth type.
    assert.deepEqual(newest(page), ids, state)
  }
  const oldest = await storage.list({ ...query, order: 'asc', states: ['completed'] })
  assert.deepEqual(
    [newest(oldest), oldest.truncated],
    [of(1, 14).filter((id) => Number.parseInt(id, 10) % 4 !== 0), true],
  )
  // All that there are: nothing is left out, so the page does not say so.
  const running = await storage.list({ ...query, limit: 100, states: ['processing'] })
  assert.deepEqual([newest(running), running.truncated, running.nextCursor], [of(240, 250), undefined, undefined])
  const second = await storage.list({ ...query, cursor: (await storage.list(query)).nextCursor! })
  assert.deepEqual(newest(second), of(280, 290))
  // Few jobs of many types: all are looked at.
  const few = await storage.list({ ...query, maxScanned: 2_000, limit: 1_000, states: ['failed'] })
  assert.deepEqual([newest(few), few.truncated], [of(0, 240, 4), undefined])
})

test('of many types with unlike priorities the ends of all sets count, expired jobs do not', async (t) => {
  const { storage, setTime, commandsOf } = await openStorage(t, { manualTime: true })
  const start = 1_767_225_600_000
  const types = 200
  const list = async (order: 'asc' | 'desc', states?: readonly JobState[]): Promise<string[]> => {
    const query = { of: 'jobs', by: 'created', maxScanned: 100, limit: 30, order, states } as const
    return (await storage.list(query)).items.map(({ id }) => id)
  }
  // The first half ends, and is gone before the list. Of the second half each fifth is a job of the past, due, later, urgent, or failed.
  for (let n = 0; n < types; n++) {
    await setTime(start + n * 1_000)
    const type = typeName((n * 7) % types)
    const isEnded = n < types / 2 || n % 5 === 4
    await storage.add([job(`j${n}`, { type, ...kinds[isEnded ? 0 : n % 5] }, n < types / 2 ? 1_000 : hour)])
    if (!isEnded) continue
    const { jobs } = await storage.claim({ worker: `w${n}`, slots: 1, types: [{ type, leaseMs: hour }] })
    await storage.settle(jobs.map((each) => ended(each, 'failed')))
  }
  await setTime(start + types * 1_000 + 2_000)
  const ids = (wanted: (n: number) => boolean = () => true): string[] =>
    Array.from({ length: types / 2 }, (_, n) => types / 2 + n)
      .filter(wanted)
      .map((n) => `j${n}`)
  const commands = await commandsOf(async () => {
    assert.deepEqual(await list('desc'), ids().toReversed().slice(0, 30))
  })
  assert.ok(commands.length < 10 * types, `${commands.length} commands`)
  assert.deepEqual(await list('asc'), ids().slice(0, 30))
  const [due, later] = [(n: number) => n % 5 < 4 && n % 5 !== 2, (n: number) => n % 5 === 2]
  assert.deepEqual(await list('desc', ['queued']), ids(due).toReversed().slice(0, 30))
  assert.deepEqual(await list('asc', ['queued']), ids(due).slice(0, 30))
  assert.deepEqual(await list('desc', ['scheduled']), ids(later).toReversed())
  assert.deepEqual(await list('asc', ['scheduled']), ids(later))
  assert.deepEqual(await list('desc', ['failed']), ids((n) => n % 5 === 4).toReversed())
})

const kinds: readonly Partial<NewJob>[] = [{}, { runAt: 1_000 }, { delayMs: 2 * hour }, { priority: 9 }, {}]
