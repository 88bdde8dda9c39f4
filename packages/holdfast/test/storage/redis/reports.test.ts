// Where progress and log lines are kept, and that they and payloads expire with their record, not before it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClaimedJob, Outcome } from 'holdfast/storage'
import { bytes, claim, ended, job } from './every-verb.ts'
import { type Fixture, openStorage } from './storage-fixture.ts'

const report = { progress: bytes('50'), log: [{ at: 1, line: bytes('a line') }] }

const fence = ({ type, id, worker, attempt }: ClaimedJob) => ({ type, id, worker, attempt })

const expiries = async ({ direct }: Fixture, ...keys: string[]): Promise<unknown[]> =>
  Promise.all(keys.map((key) => direct.send('PEXPIRETIME', `{p}:mail:${key}`)))

const reportKeys = ['log:a', 'report:a']

test('a report has two keys beside the record, which expire with it', async (t) => {
  const fixture = await openStorage(t)
  const { storage, keys } = fixture
  await storage.add([job('a', {}, 60_000)])
  const [lease] = await claim(storage)
  await storage.extend([{ ...fence(lease!), leaseMs: 30_000 }])
  assert.ok(!(await keys()).some((key) => /report|log/.test(key)), 'an extend without a report writes none')
  await storage.extend([{ ...fence(lease!), leaseMs: 30_000, ...report }])
  assert.deepEqual(await expiries(fixture, 'job:a', ...reportKeys), [-1, -1, -1])
  await storage.settle([ended(lease!, 'failed')])
  const [{ expiresAt } = {}] = await storage.get([lease!])
  assert.deepEqual(await expiries(fixture, 'job:a', ...reportKeys), [expiresAt, expiresAt, expiresAt])
  await storage.revive([lease!])
  assert.deepEqual(await expiries(fixture, 'job:a', ...reportKeys), [-1, -1, -1])
  await storage.remove([lease!], { trees: true })
  assert.deepEqual(await keys(), [':n', ':types', 'mail:type'])
})

test('a job that is kept for 0 ms leaves no report', async (t) => {
  const { storage, keys } = await openStorage(t)
  await storage.add([job('a', {}, 0)])
  const [lease] = await claim(storage)
  await storage.settle([{ ...ended(lease!, 'completed'), ...report } as Outcome])
  await storage.sweep({ limit: 10 })
  assert.deepEqual(await keys(), [':n'])
})

test('a revived job inside a chain keeps its payload and its report for as long as it lives', async (t) => {
  const fixture = await openStorage(t)
  const { storage } = fixture
  await storage.add([job('first', {}, 60_000)])
  const [first] = await claim(storage)
  const next = job('a', { payload: new Uint8Array(10_000) }, 60_000)
  await storage.settle([{ ...fence(first!), kind: 'continued', next }])
  const [tail] = await claim(storage)
  await storage.settle([{ ...ended(tail!, 'failed'), ...report } as Outcome])
  const [{ expiresAt } = {}] = await storage.get([tail!])
  const all = ['job:a', 'pay:a', ...reportKeys]
  assert.deepEqual(await expiries(fixture, ...all), Array(4).fill(expiresAt))
  assert.deepEqual(await storage.revive([tail!]), [{ verdict: 'revived' }])
  assert.deepEqual(await expiries(fixture, ...all), Array(4).fill(-1))
})

test('old lines are deleted from the list, whatever the size of a report', async (t) => {
  const { storage, direct } = await openStorage(t)
  await storage.add([job('a')])
  const [lease] = await claim(storage)
  const log = Array.from({ length: 9_000 }, (_, at) => ({ at, line: bytes(`line ${at}`) }))
  await storage.extend([{ ...fence(lease!), leaseMs: 30_000, log }])
  assert.equal(await direct.send('LLEN', '{p}:mail:log:a'), 1_000)
  const [record] = await storage.get([lease!], { parts: ['log'] })
  assert.deepEqual([record!.log!.dropped, record!.log!.lines[0]!.at], [8_000, 8_000])
  assert.equal(await direct.send('HGET', '{p}:mail:report:a', 'bytes'), String(9 * 1_000))
})

test('an outcome that is sent again after a lost reply reports once', async (t) => {
  const { storage, another } = await openStorage(t)
  await storage.add([job('a')])
  const [lease] = await claim(storage)
  const outcome = { ...fence(lease!), kind: 'retry', ...report } as const
  const handles = [storage, await another()]
  const verdicts = await Promise.all(handles.map((handle) => handle.settle([outcome])))
  assert.deepEqual(
    verdicts.map(([verdict]) => verdict!.verdict),
    ['settled', 'settled'],
  )
  const [record] = await storage.get([lease!], { parts: ['log'] })
  assert.equal(record!.log!.lines.length, 1)
})
