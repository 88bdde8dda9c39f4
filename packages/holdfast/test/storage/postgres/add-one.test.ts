// The add of one plain job: a short statement, which writes nothing if the id exists.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { AddVerdict, NewJob } from '../../../src/storage/storage.ts'
import { stopPostgres } from '../../postgres-subject.ts'
import { countedStorage } from './counted-storage.ts'

after(stopPostgres)

const retention = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }
const short = 'INSERT INTO'
const general = 'WITH clock'

function job(id: string, fields: Partial<NewJob> = {}): NewJob {
  return { type: 'mail', id, token: `token of ${id}`, retention, ...fields }
}

test('one plain job is added by one short statement, with all that it has', async () => {
  const { storage, sent, close } = await countedStorage({ listen: false })
  await storage.add([job('first')])
  sent.length = 0
  const given: Partial<NewJob>[] = [
    {},
    { payload: new Uint8Array([0, 1, 255]), maxAttempts: 3, timeoutMs: 500, trace: 'a "trace"', weight: 2 },
    { payload: new Uint8Array(0), maxAttempts: Infinity, retention: { ...retention, failedMs: 7 }, delayMs: 0 },
  ]
  for (const [index, fields] of given.entries()) {
    const id = `a \0 "${index}"`
    const [added] = await storage.add([job(id, fields)])
    const [record] = await storage.get([{ type: 'mail', id }], { parts: ['payload'] })
    assert.deepEqual(added, {
      verdict: 'added',
      job: { type: 'mail', id, token: `token of ${id}`, state: 'queued', createdAt: record!.createdAt },
    })
    const { payload, maxAttempts, timeoutMs, trace, weight, retention: kept } = record!
    assert.deepEqual(payload && Buffer.from(payload), fields.payload && Buffer.from(fields.payload))
    assert.deepEqual(
      { maxAttempts, timeoutMs, trace, weight: weight ?? 1, kept },
      {
        maxAttempts: fields.maxAttempts,
        timeoutMs: fields.timeoutMs,
        trace: fields.trace,
        weight: fields.weight ?? 1,
        kept: fields.retention ?? retention,
      },
    )
  }
  assert.deepEqual(
    sent.filter((text) => text === short || text === general),
    given.map(() => short),
  )
  await close()
})

test('an id that exists is read by a second statement, and by one alone from then on, until an id is new', async () => {
  const { storage, sent, close } = await countedStorage({ listen: false })
  const add = async (id: string, token: string): Promise<readonly [AddVerdict['verdict'], string[]]> => {
    sent.length = 0
    const [verdict] = await storage.add([job(id, { token })])
    return [verdict!.verdict, sent.filter((text) => text === short || text === general)]
  }
  await storage.add([job('warm up')])
  assert.deepEqual(await add('a', '1'), ['added', [short]])
  assert.deepEqual(await add('a', '2'), ['duplicate', [short, general]])
  assert.deepEqual(await add('a', '3'), ['duplicate', [general]])
  assert.deepEqual(await add('b', '4'), ['added', [general]])
  assert.deepEqual(await add('c', '5'), ['added', [short]])
  // A call repeated after a lost answer.
  assert.deepEqual(await add('c', '5'), ['added', [short, general]])
  await close()
})

test('one id that many calls add at once is added once', async () => {
  const { storage, close } = await countedStorage({ listen: false })
  for (let round = 0; round < 20; round++) {
    const calls = Array.from({ length: 8 }, (_, n) => storage.add([job(`round ${round}`, { token: `${n}` })]))
    const verdicts = (await Promise.all(calls)).map(([verdict]) => verdict!.verdict)
    assert.deepEqual(verdicts.toSorted(), ['added', ...Array.from({ length: 7 }, () => 'duplicate')])
  }
  await close()
})
