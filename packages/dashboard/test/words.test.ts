// What the pages say in words: rules of schedules, the timeline of a job.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JobPageData } from '../src/shared/api.ts'
import { shortId } from '../src/app/lib/words.ts'
import { ruleWords } from '../src/shared/rule-words.ts'
import { timelineOf } from '../src/shared/timeline.ts'

for (const [rule, expected] of [
  [{ everyMs: 60_000 }, 'every minute'],
  [{ everyMs: 5_400_000 }, 'every 90 minutes'],
  [{ everyMs: 1_500 }, 'every 1500 ms'],
  [{ cron: '@daily' }, 'every day at 00:00'],
  [{ cron: '* * * * *' }, 'every minute'],
  [{ cron: '*/15 * * * *' }, 'every 15 minutes'],
  [{ cron: '5 * * * *' }, 'every hour at :05'],
  [{ cron: '30 2 * * *' }, 'every day at 02:30'],
  [{ cron: '0 9 * * 1' }, 'every Monday at 09:00'],
  [{ cron: '0 9 1 * *' }, 'every month on day 1 at 09:00'],
  [{ cron: '0 9 1 2 *' }, undefined],
  [{ cron: '0 9 * * 8' }, undefined],
  [{ cron: '__proto__' }, undefined],
  [{ cron: '0 0 9 * * *' }, undefined],
] as const) {
  test(`the rule ${JSON.stringify(rule)} in words`, () => assert.equal(ruleWords(rule), expected))
}

const job: JobPageData = {
  face: 'queue',
  name: 'mail',
  id: 'm',
  state: 'failed',
  attempts: 2,
  maxAttempts: 2,
  snoozes: 0,
  priority: 0,
  blockers: [],
  createdAt: 1_000,
  runAt: 1_000,
  startedAt: 9_000,
  finishedAt: 10_000,
  workerId: 'w',
  error: { message: 'no connection\nat line 2' },
  reasons: [],
  history: [
    { attempt: 1, workerId: 'w', startedAt: 2_000, endedAt: 3_000, outcome: 'retry', state: 'failing' },
    { attempt: 2, workerId: 'w', startedAt: 9_000, endedAt: 10_000, outcome: 'failed', state: 'failed' },
  ],
}
const shape = (data: JobPageData, now: number) =>
  timelineOf(data, now).map(({ kind, from, to, isOpen }) => [kind, from, to, isOpen ?? false])

test('a long id keeps its begin and its end', () => {
  assert.equal(shortId('mail-1'), 'mail-1')
  assert.equal(shortId('01a1edab-9864-73df-a41d-262e5ce03c70', 22), '01a1edab-98…2e5ce03c70')
})

test('the timeline of an ended job has no holes', () => {
  assert.deepEqual(shape(job, 50_000), [
    ['waiting', 1_000, 2_000, false],
    ['failed', 2_000, 3_000, false],
    ['backoff', 3_000, 9_000, false],
    ['failed', 9_000, 10_000, false],
  ])
})

test('the timeline of a job that runs, or waits, goes on until now', () => {
  const { finishedAt: _, ...live } = job
  const running: JobPageData = { ...live, state: 'processing', startedAt: 12_000 }
  assert.deepEqual(shape(running, 15_000).slice(-2), [
    ['backoff', 10_000, 12_000, false],
    ['running', 12_000, 15_000, true],
  ])
  assert.deepEqual(shape({ ...live, state: 'failing' }, 15_000).at(-1), ['backoff', 10_000, 15_000, true])
  assert.deepEqual(shape({ ...live, state: 'queued', history: [] }, 15_000), [['waiting', 1_000, 15_000, true]])
})
