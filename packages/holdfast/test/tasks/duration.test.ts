import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Temporal as JsTemporal } from '@js-temporal/polyfill'
import { createTasks, type Duration, exponentialBackoff, StorageKvStore, toMs } from 'holdfast/tasks'
import { MemoryStorage } from 'holdfast'
import { Temporal as SmallTemporal } from 'temporal-polyfill'
import { anything, recordingQueue } from './fakes.ts'

// The types accept all of them: this table is typed.
const durations: readonly (readonly [duration: Duration, ms: number])[] = [
  [0, 0],
  [-0, 0],
  [1, 1],
  [0.1, 1],
  [1.5, 2],
  [-1.5, -1],
  ['PT0S', 0],
  ['PT1H30M', 5_400_000],
  ['pt1h', 3_600_000],
  ['P1W', 604_800_000],
  ['P1DT1S', 86_401_000],
  ['PT0.5S', 500],
  ['PT1.1S', 1_100],
  ['PT0,0001S', 1],
  ['PT1.5H', 5_400_000],
  ['-PT1S', -1_000],
  ['+PT1S', 1_000],
  ['P0Y0M1D', 86_400_000],
  [{ hours: 1, minutes: 30 }, 5_400_000],
  [{ seconds: 1.1 }, 1_100],
  [{ nanoseconds: 1 }, 1],
  [{ microseconds: 1_000 }, 1],
  [{ years: 0, days: 1 }, 86_400_000],
  [{ seconds: -1, milliseconds: -500 }, -1_500],
  ...[JsTemporal, SmallTemporal].flatMap((polyfill): (readonly [Duration, number])[] => [
    [polyfill.Duration.from({ hours: 1, minutes: 30 }), 5_400_000],
    [polyfill.Duration.from('P1W2D'), 777_600_000],
    [polyfill.Duration.from({ nanoseconds: 1 }), 1],
    [polyfill.Duration.from('-PT2S'), -2_000],
  ]),
]

test('[T2] durations as ms, texts, objects and of two Temporal polyfills', () => {
  for (const [duration, ms] of durations) assert.equal(toMs(duration), ms, String(duration))
})

const refused: readonly unknown[] = [
  undefined,
  null,
  NaN,
  Infinity,
  -Infinity,
  101 * 365 * 86_400_000,
  '',
  'P',
  'PT',
  'P1D1D',
  '1h',
  'P1Y',
  'P1M',
  'PT1.5M1S',
  'P1.5D',
  `PT${'9'.repeat(400)}S`,
  {},
  [],
  { hour: 1 },
  { years: 1 },
  { months: -1 },
  { seconds: 1, minutes: -1 },
  { seconds: '1' },
  { seconds: NaN },
  JsTemporal.Duration.from('P1M'),
  SmallTemporal.Duration.from('P1Y'),
  1n,
  true,
]

test('[T2] what is no duration is refused, and says what was expected', () => {
  for (const value of refused) {
    assert.throws(() => toMs(value as Duration), {
      name: 'TypeError',
      code: 'INVALID_ARGUMENT',
      message: /expected a duration/,
    })
  }
})

test('[T2] every edge takes every kind', async () => {
  const delay = JsTemporal.Duration.from({ seconds: 2 })
  const queue = recordingQueue()
  const tasks = createTasks({ queue, taskDeduplicationTtl: SmallTemporal.Duration.from('PT1M') })
  const task = tasks.defineTask('t', { schema: anything(), handler: () => {} })
  await tasks.enqueueTask(task, 1, { delay })
  assert.deepEqual(queue.sent[0]!.options, { delay: 2_000 })
  const policy = exponentialBackoff({ initialDelay: delay, maxDelay: 'PT3S', jitter: 0 })
  assert.deepEqual(
    [1, 2].map((attempt) => policy({ attempt, elapsedMs: 0, error: 1 })),
    [2_000, 3_000],
  )
  const store = new StorageKvStore(new MemoryStorage())
  await store.set(['k'], 1, { ttl: delay })
  assert.equal(await store.get(['k']), 1)
  await store.close()
})
