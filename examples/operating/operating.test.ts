// Runs the programs in one process, one after the other, and asserts what they print. The servers have a test of their own.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startRedis } from '../../servers/redis.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))

type Line = string | RegExp

/** By requirement, program and lines. */
const programs: Readonly<Record<string, readonly [requirement: string, ...lines: Line[]]>> = {
  'attempt-history': [
    'F12',
    'completed in attempt 3 of 5: charged 3 EUR',
    /^1 by worker-1, \d+ ms: retry, then failing, Error: connect ETIMEDOUT$/,
    /^2 by worker-1, \d+ ms: retry, then failing, TypeError: answer is not JSON$/,
    /^3 by worker-1, \d+ ms: completed, then completed$/,
  ],
  'bulk-redrive': [
    'F31',
    /^trial: \d+ of 2000 done, stopped: true$/,
    /^then: \d+ done, 0 skipped, 0 failed$/,
    'progress was shown several times, up to 100 %',
  ],
  'cancel-from-another-process': [
    'F17',
    "{ status: 'cancelled' }",
    "{ status: 'processing' }",
    "{ status: 'cancelled' }",
    'wrong file',
    "{ status: 'processing', aborting: true }",
    "{ status: 'cancelled' }",
  ],
  'dead-letters': [
    'F28',
    "alert: mail/m-1 failed after 1 attempt: 'ada' is no address",
    '1 job runs again: sent to ada@example.com',
  ],
  'deduplication-key': [
    'F25',
    'sync-1 queued',
    'sync-2 is a duplicate of sync-1, queued',
    'ran sync-1',
    'sync-3 queued',
    'ran greet-1',
    'greet-2 is a duplicate of greet-1, completed',
  ],
  'enqueue-many': [
    'F3',
    '2500 queued',
    '1 duplicate',
    'items[1].delayMs: expected an integer 0 … 3153600000000, got -1',
    'user-a: null',
    '2500 jobs wait',
  ],
  expiry: ['F5', 'offer-1 expired', "sent 'any day'", 'cancelled, reason expired, 0 attempts'],
  explain: [
    'F32',
    '81 running: runs since 00:00:00 on worker worker-1, attempt 1 of 3, with a lease until 00:00:30',
    '82 group_busy: waits for group tenant-7: 1 of 1 taken by job 81 since 00:00:00',
    '83 not_due: is due at 01:00:00',
    '84 not_found: job 84 is unknown: it was never added, or its record has expired or was removed',
    'paused until a person ends it',
    'not_due ends by itself',
    'when it starts is not known',
    '82 running: runs since 00:00:10 on worker worker-1, attempt 1 of 3, with a lease until 00:00:40',
  ],
  'find-and-retry': [
    'F28',
    "queue 'mail', job mail-ada: connect ECONNREFUSED",
    "queue 'mail', job mail-grace: connect ECONNREFUSED",
    'retried',
    'retried',
    'sent to ada',
    'sent to grace',
  ],
  'fleet-events': [
    'F38',
    'scope: fleet',
    'mail/m-1: queued',
    'mail/m-1: processing by worker-1',
    'mail/m-1: failing by worker-1',
    'mail/m-1: processing by worker-1',
    'mail/m-1: completed by worker-1',
  ],
  'health-endpoint': [
    'F34',
    'before the start: /live 200 not_started',
    'before the start: /ready 503 not_started',
    'running: /live 200',
    'running: /ready 200',
    'after the stop: /live 200 not_started',
    'after the stop: /ready 503 not_started',
  ],
  'on-duplicate': [
    'F4',
    "{ status: 'queued' }",
    'duplicate May',
    "{ status: 'replaced', id: 'report', state: 'scheduled' }",
    'June 5',
    'DUPLICATE_JOB report scheduled',
  ],
  'on-error': [
    'F12',
    'busy: status 429 in attempt 1',
    'busy: status 429 in attempt 1',
    'busy: a page',
    'broken: status 503 in attempt 1',
    'broken: a page',
    'missing: status 404 in attempt 1',
    'missing failed after 1 attempt',
  ],
  'ordered-groups': ['F21', 'ada: 1 fails, 1, 2, 3', 'grace: 1, 2, 3'],
  'pause-and-resume': ['F26', 'paused by ada, 2 jobs wait', 'report 1', 'not paused'],
  prioritise: [
    'F2',
    '1: priority 0',
    '2: priority 10',
    '3: priority -10',
    '4: priority 10',
    '2: renders an invoice',
    '4: renders a second invoice',
    '1: renders the nightly report',
    '3: renders the archive',
  ],
  'progress-and-logs': [
    'F27',
    'processing { done: 2, of: 4 }',
    '4 rows',
    '3 imported edsger { row: 3 }',
    '4 imported barbara { row: 4 }',
    '{ done: 4, of: 4 }',
  ],
  'reschedule-and-run-now': [
    'F1',
    "{ status: 'rescheduled' }",
    'scheduled, 30 minutes later',
    "{ status: 'rescheduled' }",
    'time for tea',
    "{ status: 'not_waiting', state: 'completed' }",
    "{ status: 'not_found' }",
  ],
  'retention-by-count': ['F29', '10 records', 'after the sweep: tick-8, tick-9, tick-10'],
  search: [
    'F30',
    'of ada: o-1 o-3',
    'of ada or grace, 100 and more: o-2 o-3',
    'below 100: o-1 o-4',
    'search: expected one of the searchFields customer, total, got "costumer"',
  ],
  snooze: ['F18', 'ordered at visit 3, attempt 1', '2 snoozes: released, released, completed', 'MAX_SNOOZES'],
  timeout: [
    'F16',
    'rendered a small page in attempt 1',
    'page-2: ATTEMPT_TIMEOUT',
    'rendered a large page in attempt 2',
    'page-3: ATTEMPT_TIMEOUT',
    'page-3 failed: STALLED',
    "[ '1: retry', '2: completed' ]",
  ],
  workers: [
    'F34',
    "worker-1 on this host serves queue 'mail': 0 of 5 slots used",
    "worker-2 on this host serves queue 'reports': 0 of 5 slots used",
    '0 workers after the stop',
  ],
}

test('every program has its lines here, and its row in the README', () => {
  const names = globSync('*.ts', { cwd: folder, exclude: ['*.test.ts'] }).map((file) => file.replace(/\.ts$/, ''))
  assert.deepEqual(names.toSorted(), Object.keys(programs))
  const rows = readFileSync(`${folder}README.md`, 'utf8').matchAll(/^\| \[(\S+)\.ts\]\(\1\.ts\) \|/gm)
  const servers = globSync('web/*.ts', { cwd: folder, exclude: ['web/mail-queue.ts', 'web/*.test.ts'] })
  assert.deepEqual(
    [...rows].map(([, name]) => name),
    [...Object.keys(programs), ...servers.map((file) => file.replace(/\.ts$/, '')).toSorted()],
  )
})

describe('programs', () => {
  let printed: Readonly<Record<string, string[]>>

  before(async () => {
    const redis = await startRedis()
    try {
      printed = await linesOf(Object.keys(programs), { ...process.env, REDIS_URL: redis.url })
    } finally {
      await redis.stop()
    }
  })

  for (const [name, [requirement, ...expected]] of Object.entries(programs)) {
    test(`[${requirement}] ${name}.ts prints what it shows`, () => {
      const lines = printed[name]!
      assert.equal(lines.length, expected.length, lines.join('\n'))
      expected.forEach((line, index) => {
        if (typeof line === 'string') assert.equal(lines[index], line)
        else assert.match(lines[index]!, line)
      })
    })
  }

  test('[F31] bulk-redrive.ts: the stop came early, and the second run did the rest', () => {
    const [trial, then] = printed['bulk-redrive']!.map((line) => Number(/\d+/.exec(line)?.[0]))
    assert.ok(trial! >= 25 && trial! < 200, `${trial} in the trial`)
    assert.equal(trial! + then!, 2_000)
  })
})

/** Runs the programs in one process, which ends by itself only if each of them left nothing open. */
async function linesOf(names: readonly string[], env: NodeJS.ProcessEnv): Promise<Record<string, string[]>> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--conditions=@holdfast/source', `${folder}testing/run-programs.ts`, ...names],
    { env },
  )
  const parts = stdout.split(/^# (.*)\n/m).slice(1)
  return Object.fromEntries(names.map((_, index) => [parts[2 * index], parts[2 * index + 1]!.trimEnd().split('\n')]))
}
