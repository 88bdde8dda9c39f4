// Jobs of one add that are due at once wait in one entry. Claims take them in the order of all waiting jobs, and every verb finds them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Storage } from 'holdfast'
import type { ListQuery } from 'holdfast/storage'
import { ended, job } from './every-verb.ts'
import { openStorage } from './storage-fixture.ts'

const ids = ['f', 'e', 'd', 'c', 'b', 'a']
const types = [{ type: 'mail', leaseMs: 30_000 }]
const start = 1_800_000_000_000
const ref = (id: string) => ({ type: 'mail', id })
let workers = 0

const addAll = (storage: Storage, names: readonly string[] = ids, delayMs?: number) =>
  storage.add(names.map((id) => job(id, delayMs === undefined ? {} : { delayMs })))

const claimed = async (storage: Storage, slots: number, outcomes: Parameters<Storage['settle']>[0] = []) =>
  (await storage.claim({ worker: `w-${++workers}`, slots, types, outcomes })).jobs

const idsOf = (jobs: readonly { readonly id: string }[]): string => jobs.map(({ id }) => id).join(' ')

async function countsOf(storage: Storage) {
  const { states, due, delayed, oldestDueAt } = (await storage.count({ types: ['mail'] })).types[0]!
  return [states.queued, states.scheduled, due, delayed, oldestDueAt]
}

async function listed(storage: Storage, query: Partial<ListQuery>): Promise<string> {
  const found: string[] = []
  for (let cursor: string | undefined; ;) {
    const asked = { of: 'jobs', limit: 2, by: 'place', ...query } as ListQuery
    const page = await storage.list(cursor === undefined ? asked : { ...asked, cursor })
    found.push(...page.items.map(({ id }) => id))
    if (page.nextCursor === undefined) return found.join(' ')
    cursor = page.nextCursor
  }
}

test('several jobs of one add have one entry, and claims take them in their order', async (t) => {
  const { storage, keys } = await openStorage(t)
  await addAll(storage)
  const others = (await keys()).filter((key) => !key.startsWith('mail:job:'))
  assert.deepEqual(others, [':n', ':types', 'mail:lots', 'mail:type'])
  assert.equal(idsOf(await claimed(storage, 4)), 'f e d c')
  assert.equal(idsOf(await claimed(storage, 4)), 'b a')
  assert.deepEqual(
    (await keys()).filter((key) => /lots|ready|type$/.test(key)),
    [],
  )
})

test('a claim of few jobs, of jobs around an entry, and of several entries keeps the order', async (t) => {
  const { storage, setTime } = await openStorage(t, { manualTime: true })
  await setTime(start)
  await addAll(storage, ['later'], 5)
  await addAll(storage, ['first'])
  await addAll(storage)
  await addAll(storage, ['between'])
  await addAll(storage, ['z', 'y', 'x', 'w'])
  assert.equal(idsOf(await claimed(storage, 1)), 'first')
  assert.equal(idsOf(await claimed(storage, 2)), 'f e')
  assert.equal(idsOf(await claimed(storage, 5)), 'd c b a between')
  await setTime(start + 5)
  await addAll(storage, ['v', 'u', 't', 's'])
  assert.equal(idsOf(await claimed(storage, 100)), 'z y x w later v u t s')
})

test('counts, the next instant and lists include the jobs of an entry', async (t) => {
  const { storage, setTime } = await openStorage(t, { manualTime: true })
  await setTime(start)
  await addAll(storage)
  await setTime(start + 10)
  await addAll(storage, ['single'])
  await addAll(storage, ['later'], 60_000)
  assert.deepEqual(await countsOf(storage), [7, 1, 7, 1, start])
  assert.equal((await storage.nextDueAt(types))?.at, start + 10)
  const limits = { concurrency: 1 }
  assert.equal((await storage.nextDueAt([{ ...types[0]!, limits }]))?.at, start + 10)
  const { next } = await storage.count({ types: [], next: { type: 'mail', limits } })
  assert.deepEqual([next?.line, next?.due], ['f', 7])
  assert.equal(await listed(storage, { order: 'asc' }), 'f e d c b a single later')
  assert.deepEqual(await countsOf(storage), [7, 1, 7, 1, start])
})

test('lists read an entry from both ends, by place and by creation', async (t) => {
  const { storage, setTime } = await openStorage(t, { manualTime: true })
  await setTime(start)
  await addAll(storage)
  await setTime(start + 10)
  await addAll(storage, ['z', 'y', 'x', 'w'])
  assert.equal(await listed(storage, { order: 'desc', states: ['queued'] }), 'w x y z a b c d e f')
  await addAll(storage, ['p', 'q', 'r', 's'])
  const { items } = await storage.list({ of: 'jobs', limit: 100 })
  assert.equal(items.length, 14)
  assert.equal(await listed(storage, { by: 'place', states: ['scheduled'] }), '')
})

test('a job of an entry is cancelled, put off, replaced and found again as a duplicate; the others keep their places', async (t) => {
  const { storage } = await openStorage(t)
  await addAll(storage)
  const [cancelled] = await storage.cancel([ref('e')])
  assert.equal(cancelled!.verdict, 'cancelled')
  await addAll(storage, ['l', 'k', 'j', 'i'])
  const [moved] = await storage.revive([ref('k')], { delayMs: 0 })
  assert.equal(moved!.verdict, 'moved')
  const again = await storage.add([job('i')])
  assert.equal(again[0]!.verdict, 'duplicate')
  assert.equal((await storage.get([ref('d')]))[0]!.state, 'queued')
  assert.equal(idsOf(await claimed(storage, 100)), 'f d c b a l j i k')
})

test('[F24] the depth of a queue counts the jobs of an entry', async (t) => {
  const { storage } = await openStorage(t)
  await addAll(storage)
  const [refused] = await storage.add([job('more', { maxWaiting: { type: 6 } })])
  assert.equal(refused!.verdict, 'queue_full')
})

test('jobs of random adds are claimed in the order of their instants, then of their adds', async (t) => {
  const { storage, setTime } = await openStorage(t, { manualTime: true })
  let seed = 7
  const random = (below: number): number => (seed = (seed * 16_807) % 2_147_483_647) % below
  let [now, added] = [start, 0]
  const waiting: { id: string; runAt: number; order: number }[] = []
  let running: Parameters<Storage['settle']>[0] = []
  for (let round = 0; round < 400; round++) {
    if (random(2) === 0) await setTime((now += random(3)))
    if (random(3) > 0) {
      const delayMs = random(4) === 0 ? random(4) : undefined
      const names = Array.from({ length: 1 + random(9) }, () => `job-${++added}`)
      await addAll(storage, names, delayMs)
      for (const [index, id] of names.entries()) {
        waiting.push({ id, runAt: now + (delayMs ?? 0), order: added - names.length + index })
      }
    }
    waiting.sort((a, b) => a.runAt - b.runAt || a.order - b.order)
    const slots = random(8)
    const due = waiting.filter(({ runAt }) => runAt <= now).slice(0, slots)
    const jobs = await claimed(storage, slots, running)
    assert.equal(idsOf(jobs), idsOf(due), `round ${round}`)
    running = jobs.map((each) => ended(each, 'completed'))
    waiting.splice(0, waiting.length, ...waiting.filter((each) => !due.includes(each)))
  }
  assert.ok(added > 500, String(added))
})
