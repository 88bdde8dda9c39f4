// Calls that share a commit see what the earlier ones of it did, also the rows that an add writes at once.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultType } from '../../../src/storage/stored-type.ts'
import { bench, newJob, types } from './bench.ts'
import { checkTables, inspect } from './check-tables.ts'

const ref = (id: string) => ({ type: defaultType, id })

test('an id whose record an earlier call of the commit deleted is free', async (t) => {
  const storage = await bench(t).open({ durability: 'relaxed' })
  await storage.add([newJob('a')])
  await storage.cancel([ref('a')])
  const [removed, added, claimed] = await Promise.all([
    storage.remove([ref('a')]),
    storage.add([newJob('a', { token: 'second' })]),
    storage.claim({ worker: 'w', slots: 5, types }),
  ])
  assert.deepEqual(
    [removed[0]!.verdict, added[0]!.verdict, claimed.jobs.map(({ id, token }) => [id, token])],
    ['removed', 'added', [['a', 'second']]],
  )
  await inspect(storage, checkTables)
})

test('an add finds the jobs that earlier calls of the commit added, and its own', async (t) => {
  const storage = await bench(t).open({ durability: 'relaxed' })
  const plain = newJob('a', { payload: Buffer.from('1') })
  const rare = newJob('b', { timeoutMs: 5_000, payload: Buffer.alloc(2_000) })
  const verdicts = await Promise.all([
    storage.add([plain, rare]),
    storage.add([newJob('c'), newJob('c'), plain, { ...rare, token: 'other' }]),
  ])
  assert.deepEqual(
    verdicts.map((all) => all.map(({ verdict }) => verdict)),
    [
      ['added', 'added'],
      // The third is a repeat of the earlier call, by its token.
      ['added', 'duplicate', 'added', 'duplicate'],
    ],
  )
  const { jobs } = await storage.claim({ worker: 'w', slots: 5, types })
  assert.deepEqual(
    jobs.map(({ id, payload, timeoutMs }) => [id, payload?.byteLength, timeoutMs]),
    [
      ['a', 1, undefined],
      ['b', 2_000, 5_000],
      ['c', undefined, undefined],
    ],
  )
  await inspect(storage, checkTables)
})
