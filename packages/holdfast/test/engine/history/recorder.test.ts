// The recorder of what workers did, when other workers write the same entries.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { systemClock } from '../../../src/clock.ts'
import { readHistory } from '../../../src/engine/history/read-history.ts'
import { HistoryRecorder } from '../../../src/engine/history/recorder.ts'
import { newTally, spanKey } from '../../../src/engine/history/rollup.ts'
import type { GuardedStorage } from '../../../src/engine/guard.ts'

test('what loses its races is written with what comes next, once in each span', async () => {
  const storage = new MemoryStorage()
  await storage.connect()
  let isLosing = true
  const kv = {
    get: storage.kv.get.bind(storage.kv),
    cas: async (...given: Parameters<typeof storage.kv.cas>) => !isLosing && storage.kv.cas(...given),
  }
  const recorder = new HistoryRecorder({ kv, clock: systemClock })
  const completed = async (): Promise<number[]> => {
    const sums = (['1h', '30d'] as const).map(async (range) => {
      const { points } = await readHistory(storage as unknown as GuardedStorage, systemClock, range)
      return points.reduce((sum, point) => sum + point.completed, 0)
    })
    return Promise.all(sums)
  }
  recorder.count({ name: 'completed', type: 'queue.mail', id: 'a' } as never)
  await recorder.flush()
  assert.deepEqual(await completed(), [0, 0])
  isLosing = false
  recorder.count({ name: 'completed', type: 'queue.mail', id: 'b' } as never)
  await recorder.flush()
  assert.deepEqual(await completed(), [2, 2])
  recorder.count({ name: 'completed', type: 'queue.mail', id: 'c' } as never)
  await recorder.flush()
  assert.deepEqual(await completed(), [3, 3])
  await storage.disconnect()
})

test('the types of a range are added up, the one whose handlers ran longest first; entries without that sum count as 0', async () => {
  const storage = new MemoryStorage()
  await storage.connect()
  const recorder = new HistoryRecorder({ kv: storage.kv, clock: systemClock })
  const ran = (name: string, type: string, durationMs: number): void =>
    recorder.count({ name, type, id: 'a', durationMs } as never)
  const { ranMs: _, ...earlier } = { ...newTally(), completed: 4 }
  await storage.kv.set(spanKey('hour', Date.now()), Buffer.from(JSON.stringify([['queue.mail', earlier]])))
  ran('completed', 'queue.mail', 20)
  ran('failing', 'queue.mail', 30.4)
  ran('failed', 'chain.order', 400)
  await recorder.flush()
  const { types } = await readHistory(storage as unknown as GuardedStorage, systemClock, '24h')
  assert.deepEqual(types, [
    { face: 'chain', name: 'order', completed: 0, retried: 0, failed: 1, ranMs: 400 },
    { face: 'queue', name: 'mail', completed: 5, retried: 1, failed: 0, ranMs: 50 },
  ])
  const { types: ofMail } = await readHistory(storage as unknown as GuardedStorage, systemClock, '1h', 'queue.mail')
  assert.deepEqual(
    ofMail.map(({ name, ranMs }) => [name, ranMs]),
    [['mail', 50]],
  )
  await storage.disconnect()
})
