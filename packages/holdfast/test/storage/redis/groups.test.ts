// Groups and limits: the keys that they have, when these are gone, and what they cost the claims of other jobs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClaimedJob, ClaimType, JobGroup, Limits, NewJob, Outcome, Signal } from 'holdfast/storage'
import type { RedisStorage } from 'holdfast/redis'
import { until } from '../../queue/driver.ts'
import { ended, job } from './every-verb.ts'
import { openStorage } from './storage-fixture.ts'

const minute = 60_000
const start = 1_800_000_000_000
const hold = { key: 'g', ordered: true, onFailure: 'hold' } as const

const make = (id: string, group?: JobGroup, fields: Partial<NewJob> = {}): NewJob =>
  job(id, group ? { group, ...fields } : fields, minute)

let workers = 0
const claim = async (storage: RedisStorage, limits?: Limits, slots = 10): Promise<readonly ClaimedJob[]> => {
  const types = [typeWith(limits)]
  return (await storage.claim({ worker: `w-${++workers}`, slots, types })).jobs
}
const typeWith = (limits?: Limits): ClaimType => ({ type: 'mail', leaseMs: minute, ...(limits && { limits }) })
const idsOf = (jobs: readonly { readonly id: string }[]): string => jobs.map(({ id }) => id).join(' ')
const namesOf = (commands: readonly string[]): string => commands.map((line) => line.split('"')[1]).join(' ')
const isRecord = (key: string): boolean => /:job:|:done:|^:/.test(key)

test('an unordered group has a place in the ring, a list of waiting jobs per priority, and a state', async (t) => {
  const { storage, keys } = await openStorage(t)
  await storage.add([make('a', { key: 'g:1' }), make('b', { key: 'g:1' }, { priority: 7 })])
  assert.deepEqual(
    (await keys()).filter((key) => !isRecord(key)),
    ['aside', 'flow:g:1', 'group:g:1', 'ring', 'type', 'wait:0:g:1', 'wait:7:g:1'].map((key) => `mail:${key}`),
  )
  const jobs = await claim(storage)
  assert.equal(idsOf(jobs), 'b a')
  assert.deepEqual(
    (await keys()).filter((key) => !isRecord(key)),
    ['flow:g:1', 'group:g:1', 'leases', 'type'].map((key) => `mail:${key}`),
  )
  await storage.settle(jobs.map((each) => ended(each, 'completed')))
  // The type has a priority.
  assert.deepEqual(
    (await keys()).filter((key) => !isRecord(key)),
    ['mail:type'],
  )
})

test('an ordered group has no lists of waiting jobs, and leaves no key', async (t) => {
  const { storage, keys } = await openStorage(t)
  await storage.add([make('a', hold), make('b', hold)])
  const others = async () => (await keys()).filter((key) => !isRecord(key))
  assert.deepEqual(
    await others(),
    ['aside', 'flow:g', 'group:g', 'ring', 'type'].map((key) => `mail:${key}`),
  )
  await storage.settle((await claim(storage)).map((each) => ended(each, 'completed')))
  await storage.cancel([{ type: 'mail', id: 'b' }])
  assert.deepEqual(await others(), [])
})

test('[F21] a group that only has blocked jobs keeps its kind until they are gone', async (t) => {
  const { storage, keys } = await openStorage(t)
  await storage.add([make('open', undefined, { delayMs: minute })])
  await storage.add([make('a', hold, { blockers: [{ type: 'mail', id: 'open' }] })])
  const [refused] = await storage.add([make('b', { key: 'g' })])
  assert.deepEqual(refused, { verdict: 'group_kind', ordered: true })
  await storage.cancel([{ type: 'mail', id: 'a' }])
  assert.ok(!(await keys()).includes('mail:flow:g'))
  const [added] = await storage.add([make('b', { key: 'g' })])
  assert.equal(added!.verdict, 'added')
})

test('claims of plain jobs have their fast path again once no group is in the ring', async (t) => {
  const { storage, commandsOf } = await openStorage(t)
  await storage.add([make('plain 1'), make('plain 2'), make('grouped', { key: 'g' }, { delayMs: minute })])
  const first = await commandsOf(async () => assert.equal(idsOf(await claim(storage, undefined, 1)), 'plain 1'))
  assert.match(namesOf(first), /ZRANGEBYSCORE.*INCR|HMGET.*HMGET/)
  await storage.cancel([{ type: 'mail', id: 'grouped' }])
  const second = await commandsOf(async () => assert.equal(idsOf(await claim(storage, undefined, 1)), 'plain 2'))
  assert.equal(namesOf(second), 'TIME HMGET ZRANGE ZRANGE ZRANGE GET ZREM SET ZADD')
})

test('[F20] a completion in a full type takes the rules and sends a hint; in a type with room it does not', async (t) => {
  const { storage, commandsOf } = await openStorage(t)
  const signals: Signal[] = []
  t.after(await storage.listen([{ kind: 'wake', type: 'mail' }], (signal) => void signals.push(signal)))
  await storage.add(['a', 'b', 'c'].map((id) => make(id)))
  const limits = { concurrency: 2 }
  const jobs = await claim(storage, limits)
  assert.equal(idsOf(jobs), 'a b')
  await until(() => signals.length === 1, 'the hint of the add')
  await storage.settle([ended(jobs[0]!, 'completed')])
  await until(() => signals.length === 2, 'the hint of the settle')
  const fast = await commandsOf(() => storage.settle([ended(jobs[1]!, 'completed')]))
  assert.equal(namesOf(fast), 'TIME HMGET MGET SET ZREM ZADD PUBSUB PUBLISH')
})

test('[F20] a claim that fills the type again with its own outcomes sends no hint', async (t) => {
  const { storage } = await openStorage(t)
  const signals: Signal[] = []
  await storage.add(['a', 'b', 'c'].map((id) => make(id)))
  const types = [typeWith({ concurrency: 1 })]
  let [lease] = (await storage.claim({ worker: 'first', slots: 2, types })).jobs
  t.after(await storage.listen([{ kind: 'wake', type: 'mail' }], (signal) => void signals.push(signal)))
  for (const id of ['b', 'c']) {
    const outcomes = [ended(lease!, 'completed')]
    ;[lease] = (await storage.claim({ worker: `holds ${id}`, slots: 2, types, outcomes })).jobs
    assert.equal(lease!.id, id)
  }
  assert.equal(signals.length, 0)
  await storage.settle([ended(lease!, 'completed')])
  await until(() => signals.length === 1, 'the hint')
})

test('[F22] the state of a group without jobs expires with its rate; a sweep forgets that of its type', async (t) => {
  const { storage, direct, keys } = await openStorage(t)
  const rate = { limit: 3, perMs: 300 }
  await storage.add([make('a', { key: 'g' }, { weight: 2 })])
  const [lease] = await claim(storage, { rate, group: { rate } })
  assert.equal(await direct.send('PEXPIRETIME', '{p}:mail:flow:g'), -1)
  await storage.settle([ended(lease!, 'completed')])
  assert.equal(await direct.send('PEXPIRETIME', '{p}:mail:flow:g'), lease!.startedAt + rate.perMs)
  await storage.sweep({ limit: 10 })
  const has = async (key: string): Promise<boolean> => (await keys()).includes(key)
  assert.ok(await has('mail:type'))
  await until(async () => !(await has('mail:flow:g')), 'the end of the window')
  await storage.sweep({ limit: 10 })
  assert.ok(!(await has('mail:type')))
})

test('[F21] a hold ends with the sweep after Redis has expired the record of its job', async (t) => {
  const { storage, keys } = await openStorage(t)
  await storage.add([job('a', { group: hold }, 50), make('b', hold)])
  await storage.settle((await claim(storage)).map((each) => ended(each, 'failed')))
  assert.equal(idsOf(await claim(storage)), '')
  assert.ok((await keys()).includes('mail:holds'))
  await until(async () => (await storage.get([{ type: 'mail', id: 'a' }]))[0] === undefined, 'the expiry')
  assert.equal(idsOf(await claim(storage)), '')
  await storage.sweep({ limit: 10 })
  assert.equal(idsOf(await claim(storage)), 'b')
  assert.ok(!(await keys()).includes('mail:holds'))
})

for (const [how, fields] of [
  ['without a group', {}],
  ['of another group', { group: { key: 'other' } }],
] as const) {
  test(`[F21] the hold of an expired job ends, although a job ${how} has its id by then`, async (t) => {
    const { storage } = await openStorage(t)
    await storage.add([job('a', { group: hold }, 50), make('b', hold)])
    await storage.settle((await claim(storage)).map((each) => ended(each, 'failed')))
    await until(async () => (await storage.get([{ type: 'mail', id: 'a' }]))[0] === undefined, 'the expiry')
    await storage.add([make('a', undefined, { ...fields, delayMs: minute })])
    await storage.sweep({ limit: 10 })
    assert.equal(idsOf(await claim(storage)), 'b')
  })
}

test('[F24] full, held and paused groups cost the claims of other jobs no command, however many jobs wait in them', async (t) => {
  const { storage, commandsOf } = await openStorage(t, { manualTime: true })
  const limits: Limits = { group: { limit: 1 } }
  const settleLater: Outcome[] = []
  const cost = async (): Promise<number> => {
    await storage.add([make(`free ${++workers}`, { key: `free ${workers}` })])
    let count = 0
    const commands = await commandsOf(async () => {
      const jobs = await claim(storage, limits, 1)
      count = jobs.length
      settleLater.push(...jobs.map((each) => ended(each, 'completed')))
    })
    assert.equal(count, 1)
    await storage.settle(settleLater.splice(0))
    return commands.length
  }
  await storage.pause({ type: 'mail', group: 'paused', paused: true })
  const before = await cost()
  for (const key of ['full', 'held', 'paused']) {
    const group = key === 'held' ? { ...hold, key } : { key }
    await storage.add(Array.from({ length: 300 }, (_, index) => make(`${key} ${index}`, group)))
  }
  const jobs = await claim(storage, limits, 2)
  assert.equal(idsOf(jobs), 'full 0 held 0')
  await storage.settle([ended(jobs[1]!, 'failed')])
  assert.equal(await cost(), before)
})

test('the clock of a group is that of the server: no write is needed when its time comes', async (t) => {
  const { storage, setTime } = await openStorage(t, { manualTime: true })
  await setTime(start)
  await storage.add([make('a', { key: 'g' }, { delayMs: 5_000 }), make('b', { key: 'h' }, { delayMs: 2_000 })])
  assert.deepEqual(await storage.nextDueAt([typeWith()]), { at: start + 2_000, now: start })
  await setTime(start + 5_000)
  assert.equal(idsOf(await claim(storage)), 'b a')
})
