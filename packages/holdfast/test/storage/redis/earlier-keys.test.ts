// Deduplication keys that an earlier version stored: their entries have no token of a replacement, and no version.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { job } from './every-verb.ts'
import { openStorage } from './storage-fixture.ts'

/** Keeps the first six entries of a stored key. */
const shorten = `
  local mark = cmsgpack.unpack(redis.call('GET', KEYS[1]))
  redis.call('SET', KEYS[1], cmsgpack.pack({ mark[1], mark[2], mark[3], mark[4], mark[5], mark[6] }))`

test('[F25] keys of an earlier version are read, kept and freed', async (t) => {
  const { storage, direct, keys } = await openStorage(t)
  const simple = { key: 'simple', mode: 'simple' } as const
  const window = { key: 'window', mode: 'throttle', windowMs: 600_000 } as const
  await storage.add([job('a', { deduplication: simple }), job('b', { deduplication: window })])
  const stored = ((await direct.send('KEYS', '*')) as string[]).filter((key) => /:key:/.test(key))
  assert.equal(stored.length, 2, (await keys()).join())
  for (const key of stored) await direct.send('EVAL', shorten, '1', key)
  const verdictOf = async (id: string, deduplication: typeof simple | typeof window) =>
    (await storage.add([job(id, { deduplication })]))[0]!.verdict
  assert.deepEqual([await verdictOf('c', simple), await verdictOf('d', window)], ['duplicate', 'duplicate'])
  await storage.cancel([
    { type: job('a').type, id: 'a' },
    { type: job('b').type, id: 'b' },
  ])
  assert.deepEqual([await verdictOf('e', simple), await verdictOf('f', window)], ['added', 'added'])
})
