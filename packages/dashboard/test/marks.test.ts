// Marks of the charts: where workers began.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WorkerInfo } from 'holdfast'
import { marksOf } from '../src/server/views/history.ts'

const worker = (startedAt: number, version: string): WorkerInfo => ({ startedAt, version }) as WorkerInfo

test('workers that began in one step are one mark, with their versions; those before the range have none', () => {
  const points = [{ at: 60_000 }, { at: 120_000 }, { at: 180_000 }] as never
  const workers = [worker(10_000, '1.0.0'), worker(130_000, '1.1.0'), worker(125_000, '1.0.0'), worker(60_000, '1.0.0')]
  assert.deepEqual(marksOf(workers, { points, stepMs: 60_000 }), [
    { at: 60_000, text: '1 worker began, version 1.0.0' },
    { at: 120_000, text: '2 workers began, version 1.0.0, 1.1.0' },
  ])
  assert.deepEqual(marksOf(workers, { points: [], stepMs: 60_000 }), [])
})
