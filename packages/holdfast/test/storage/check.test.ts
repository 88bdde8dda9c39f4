// The checks that every driver runs first: what they refuse, and in which words.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkListQuery, checkNewJobs, checkOutcomes } from '../../src/storage/check.ts'
import type { ListQuery, NewJob, Outcome } from '../../src/storage/storage.ts'

const job: NewJob = {
  type: 'mail',
  id: 'a',
  token: 't',
  retention: { completedMs: 0, failedMs: 0, cancelledMs: 0 },
}

test('a list names what it lists, and how many', () => {
  const messages: readonly (readonly [object, string])[] = [
    [{ limit: 10 }, "list: of: expected 'jobs' or 'chains', got undefined"],
    [{ of: 'workers', limit: 10 }, "list: of: expected 'jobs' or 'chains', got \"workers\""],
    [{ of: 'jobs' }, 'list: limit: expected an integer 1 … 1000, got undefined'],
    [{ of: 'jobs', limit: 1_001 }, 'list: limit: expected an integer 1 … 1000, got 1001'],
  ]
  for (const [query, message] of messages) {
    const expected = { name: 'TypeError', code: 'INVALID_ARGUMENT', message }
    assert.throws(() => checkListQuery(query as ListQuery), expected)
  }
  checkListQuery({ of: 'chains', limit: 1_000 })
})

test('a priority is an integer from -100 to 100', () => {
  for (const priority of [-101, 101, 0.5, Number.NaN]) {
    const message = `priority: expected an integer -100 … 100, got ${priority}`
    assert.throws(() => checkNewJobs('memory', [job, { ...job, priority }]), { code: 'INVALID_ARGUMENT', message })
  }
  checkNewJobs('memory', [
    { ...job, priority: -100 },
    { ...job, priority: 100 },
  ])
})

test('a settle without a worker ends the job', () => {
  const outcome = { type: 'mail', id: 'a', token: 't', chain: { type: 'mail', id: 'a' } } as const
  for (const kind of ['retry', 'released'] as const) {
    const message = `outcome.kind: expected 'completed', 'failed' or 'continued' without a worker, got "${kind}"`
    assert.throws(() => checkOutcomes('memory', [{ ...outcome, kind } as Outcome]), {
      code: 'INVALID_ARGUMENT',
      message,
    })
  }
  for (const kind of ['completed', 'failed'] as const) checkOutcomes('memory', [{ ...outcome, kind } as Outcome])
})
