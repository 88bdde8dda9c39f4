// Lists by creation whose filters pass over most jobs: what is read of those is a few bytes, or their record once, whatever the page.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ListQuery } from 'holdfast/storage'
import { claim, ended, job } from './every-verb.ts'
import { type Fixture, openStorage } from './storage-fixture.ts'

const hour = 3_600_000
const start = 1_767_225_600_000

/** Answers with the ids, and with the number of all commands, of scripts, and of reads of records and of parts of them. */
async function listed({ storage, commandsOf }: Fixture, query: ListQuery) {
  // The first list of jobs that were added or completed together takes their entries apart, once.
  await storage.list(query)
  let ids: string[] = []
  const commands = await commandsOf(async () => {
    ids = (await storage.list(query)).items.map(({ id }) => id)
  })
  const count = (pattern: RegExp): number => commands.filter((command) => pattern.test(command)).length
  // Each script reads the clock.
  const scripts = count(/^"TIME"|^"GET" "[^"]*clock/)
  return { ids, all: commands.length, scripts, GET: count(/^"GET" "[^"]*:job:/), GETRANGE: count(/^"GETRANGE"/) }
}

async function addMany({ storage }: Fixture, name: string, number: number): Promise<void> {
  for (let from = 0; from < number; from += 1_000) {
    await storage.add(
      Array.from({ length: Math.min(1_000, number - from) }, (_, n) => job(`${name} ${from + n}`, {}, hour)),
    )
  }
}

test('a page of the newest chains behind 4,000 continuations reads each of these once, and its own chains', async (t) => {
  const fixture = await openStorage(t, { manualTime: true })
  const { storage, setTime } = fixture
  await setTime(start)
  await addMany(fixture, 'continued', 4_000)
  for (let round = 1; round <= 8; round++) {
    await setTime(start + round)
    await addMany(fixture, `chain ${round}`, 1_000)
  }
  await setTime(start + 9)
  for (let from = 0; from < 4_000; from += 400) {
    const outcomes = (await claim(storage, 400)).map(({ type, id, worker, attempt }) => {
      const next = job(`next of ${id}`, {}, hour)
      return { type, id, worker, attempt, kind: 'continued', next, add: [] } as const
    })
    await storage.settle(outcomes)
  }
  const query = { of: 'chains', types: ['mail'], limit: 1_000 } as const
  const newest = await listed(fixture, query)
  assert.ok(newest.ids.length === 1_000 && newest.ids.every((id) => id.startsWith('chain')), newest.ids[0])
  // The records of the page, of the continuations, and of the first jobs of the chains that are continued.
  assert.ok(newest.GET <= 1_001 + 4_000 + 4_000, `${newest.GET} GET`)
  // Of each job that is looked at, and one window more.
  assert.ok(newest.GETRANGE <= 4_000 + 4_000 + 2 * 2_000, `${newest.GETRANGE} GETRANGE`)
  assert.ok(newest.scripts <= 16, `${newest.scripts} scripts`)
  // The chains that are continued are queued, as their last jobs are.
  const oldest = await listed(fixture, { ...query, order: 'asc', states: ['queued'] })
  assert.ok(oldest.ids.length === 1_000 && oldest.ids.every((id) => id.startsWith('continued')))
  const completed = await listed(fixture, { ...query, states: ['completed'] })
  assert.deepEqual(completed.ids, [])
  assert.ok(completed.all <= 3 * 4_000 + 100, `${completed.all} commands`)
})

test('chains that failed are found among 6,000 completed ones without their records', async (t) => {
  const fixture = await openStorage(t)
  const { storage } = fixture
  await addMany(fixture, 'chain', 6_000)
  for (let from = 0; from < 6_000; from += 500) {
    await storage.settle((await claim(storage, 500)).map((each) => ended(each, 'completed')))
  }
  await storage.add([job('a', {}, hour), job('b', {}, hour), job('c', {}, hour)])
  const [a, b, c] = await claim(storage)
  const { type, id, worker, attempt } = b!
  const next = job('next', {}, hour)
  await storage.settle([ended(a!, 'failed'), { type, id, worker, attempt, kind: 'continued', next, add: [] }])
  await storage.settle([...(await claim(storage)), c!].map((each) => ended(each, each === c ? 'completed' : 'failed')))
  for (const order of ['asc', 'desc'] as const) {
    const { ids, GET } = await listed(fixture, {
      of: 'chains',
      types: ['mail'],
      states: ['failed'],
      order,
      limit: 1_000,
    })
    assert.deepEqual(ids.toSorted(), ['a', 'b'])
    assert.ok(GET < 20, `${GET} GET`)
  }
})

test('ascending: a page does not read the waiting jobs before its cursor', async (t) => {
  const fixture = await openStorage(t, { manualTime: true })
  const { storage, setTime } = fixture
  for (let round = 0; round < 10; round++) {
    await setTime(start + round)
    await addMany(fixture, `round ${round} number`, 1_000)
  }
  const query = { of: 'chains', types: ['mail'], order: 'asc', limit: 1_000 } as const
  let cursor: string | undefined
  for (let round = 0; round < 10; round++) {
    const page = { ...query, ...(cursor !== undefined && { cursor }) }
    const { ids, GETRANGE } = await listed(fixture, page)
    assert.ok(ids.length === 1_000 && ids.every((id) => id.startsWith(`round ${round}`)), `page ${round}`)
    // Those of the cursor's instant, and the later ones.
    assert.ok(GETRANGE <= 1_000 * (11 - round), `${GETRANGE} GETRANGE`)
    cursor = (await storage.list(page)).nextCursor
  }
  assert.equal(cursor, undefined)
})

test('the jobs of a chain are found among 41,000 of one instant, which are not read', async (t) => {
  const fixture = await openStorage(t, { manualTime: true })
  await fixture.setTime(start)
  await addMany(fixture, 'job', 41_000)
  const chain = { type: 'mail', id: 'job 0' }
  const { ids, GET } = await listed(fixture, { of: 'jobs', chain, limit: 10 })
  assert.deepEqual([ids, GET], [['job 0'], 1])
})

for (const order of ['asc', 'desc'] as const) {
  test(`${order}: jobs of a group are found among others of one instant, over several rounds`, async (t) => {
    const { storage, setTime } = await openStorage(t, { manualTime: true })
    await setTime(start)
    const inGroup = ['000', '499', '999']
    const jobs = Array.from({ length: 1_000 }, (_, n) => {
      const id = String(n).padStart(3, '0')
      return job(id, inGroup.includes(id) ? { group: { key: 'g' } } : {}, hour)
    })
    await storage.add(jobs)
    for (let left = 1_010; left > 0; left -= 500) {
      await storage.settle((await claim(storage, 500)).map((each) => ended(each, 'completed')))
    }
    const { items, nextCursor } = await storage.list({ of: 'jobs', group: 'g', order, limit: 5 })
    const ids = items.map(({ id }) => id)
    assert.deepEqual([ids, nextCursor], [order === 'asc' ? inGroup : inGroup.toReversed(), undefined])
  })
}
