import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { inspect } from 'node:util'
import * as holdfast from 'holdfast'
import * as chains from 'holdfast/chains'
import * as tasks from 'holdfast/tasks'
import {
  AttemptAbortedError,
  BatchInterruptedError,
  DuplicateJobError,
  type ErrorCode,
  errorCodes,
  HoldfastError,
  isHoldfastError,
  JobCancelledError,
  JobFailedError,
  JobNotFoundError,
  MaxRetriesError,
  QueueFullError,
  RateLimitedError,
  SerializationError,
  StorageError,
  TimeoutError,
  UnrecoverableError,
} from 'holdfast'
import { JobTypeValidationError } from 'holdfast/chains'
import { invalidArgument, printable, unsupported } from '../src/errors.ts'

const cause = new Error('the cause')
const boom = (): never => assert.fail('boom')

/** Each class once, with its code and what belongs to it. */
const examples: readonly [error: HoldfastError, name: string, code: ErrorCode, fields: Record<string, unknown>][] = [
  [new TimeoutError('x', 5), 'TimeoutError', 'TIMEOUT', { jobId: 'x', timeout: 5 }],
  [new JobCancelledError('x'), 'JobCancelledError', 'JOB_CANCELLED', { jobId: 'x' }],
  [
    new JobCancelledError('x', 'not needed'),
    'JobCancelledError',
    'JOB_CANCELLED',
    { jobId: 'x', reason: 'not needed' },
  ],
  [
    new JobCancelledError('x', undefined, true),
    'JobCancelledError',
    'JOB_CANCELLED',
    { jobId: 'x', reason: 'expired' },
  ],
  [
    new DuplicateJobError({ by: 'key', jobId: 'x', state: 'queued' }),
    'DuplicateJobError',
    'DUPLICATE_JOB',
    { jobId: 'x', state: 'queued', by: 'key' },
  ],
  [
    new AttemptAbortedError('cancelled', 'x', 2, 'not needed'),
    'AbortError',
    'JOB_CANCELLED',
    { reason: 'cancelled', jobId: 'x', attempt: 2, cancelReason: 'not needed' },
  ],
  [
    new QueueFullError({ of: 'group', waiting: 5, max: 5, face: 'queue', name: 'mail', group: 'g' }),
    'QueueFullError',
    'QUEUE_FULL',
    { of: 'group', waiting: 5, max: 5, face: 'queue', queue: 'mail', group: 'g' },
  ],
  [new RateLimitedError(500, 'group'), 'RateLimitedError', 'RATE_LIMITED', { retryAfterMs: 500, scope: 'group' }],
  [new JobNotFoundError('x'), 'JobNotFoundError', 'JOB_NOT_FOUND', { jobId: 'x' }],
  [new StorageError('m', { maybeApplied: true }), 'StorageError', 'STORAGE_ERROR', { maybeApplied: true }],
  [new SerializationError('payload', 'm'), 'SerializationError', 'SERIALIZATION_ERROR', { what: 'payload' }],
  [new AttemptAbortedError('error', 'x', 2), 'AbortError', 'LEASE_LOST', { reason: 'error', jobId: 'x', attempt: 2 }],
  [
    new JobTypeValidationError('INVALID_INPUT', 'x', 'm', { issues: [{ message: 'm', path: ['a', 0] }] }),
    'JobTypeValidationError',
    'INVALID_INPUT',
    { typeName: 'x', issues: [{ message: 'm', path: ['a', 0] }] },
  ],
  [new UnrecoverableError('m'), 'UnrecoverableError', 'UNRECOVERABLE', {}],
  [new HoldfastError('STALLED', 'm', { jobId: 'x' }), 'HoldfastError', 'STALLED', { jobId: 'x' }],
  [
    new HoldfastError('MISSING_DEPENDENCY', 'm', { command: 'npm install pg' }),
    'HoldfastError',
    'MISSING_DEPENDENCY',
    { command: 'npm install pg' },
  ],
  [
    unsupported('memory', 'transactions'),
    'HoldfastError',
    'FEATURE_UNSUPPORTED',
    { driver: 'memory', what: 'transactions' },
  ],
]

for (const [error, name, code, fields] of examples) {
  test(`[Q7.09] ${name} ${code}: class, name, code, fields, and the same as JSON`, () => {
    assert.ok(error instanceof HoldfastError && error instanceof Error)
    assert.deepEqual([error.name, error.code], [name, code])
    for (const [field, value] of Object.entries(fields)) assert.deepEqual(Reflect.get(error, field), value)
    assert.equal(String(error), `${name}: ${error.message}`)
    assert.ok(error.stack?.includes('errors.test.ts'))
    assert.deepEqual(error.toJSON(), { name, code, message: error.message, ...fields })
    assert.deepEqual(JSON.parse(JSON.stringify(error)), { name, code, message: error.message, ...fields })
    assert.ok(isHoldfastError(error) && isHoldfastError(error, code))
    assert.equal(isHoldfastError(error, 'QUEUE_STOPPED'), false)
  })
}

test('[Q7.02] JobFailedError: the message has the message, originalError is details as JSON', () => {
  const details = { name: 'E', message: 'm', stack: 'E: m\n  at x', cause: { message: 'c' } }
  const error = new JobFailedError('x', 2, details)
  assert.equal(error.message, "Job 'x' failed: m")
  assert.deepEqual(error.details, details)
  assert.deepEqual(JSON.parse(error.originalError), details)
})

test('[Q7.05] MaxRetriesError: the payload is there, and in no log', () => {
  const error = new MaxRetriesError('x', 2, cause, 'secret')
  assert.deepEqual([error.payload, error.lastError, error.cause], ['secret', cause, cause])
  assert.ok(!JSON.stringify(error).includes('secret'))
  assert.ok(!inspect(error).includes('secret'))
  const lastError = { name: 'Error', message: 'the cause', stack: cause.stack }
  const json = {
    name: 'MaxRetriesError',
    code: 'MAX_RETRIES',
    message: error.message,
    jobId: 'x',
    attempts: 2,
    lastError,
  }
  assert.deepEqual(error.toJSON(), json)
})

test('[Q7.05] MaxRetriesError can be made of an error that cannot be read', () => {
  const wordless = Object.defineProperty(new Error(), 'message', { get: boom })
  assert.match(new MaxRetriesError('x', 1, wordless, 1).message, /^Job 'x' failed after 1 attempt: ./)
})

test('[Q7.06] [Q7.07] a cause is kept as it is, and is details in JSON', () => {
  for (const error of [
    new StorageError('m', { cause, maybeApplied: false }),
    new SerializationError('result', 'm', cause),
    new UnrecoverableError('m', { cause }),
    new BatchInterruptedError(1_000, 2_000, cause),
    new HoldfastError('STALLED', 'm', { cause }),
  ]) {
    assert.equal(error.cause, cause)
    assert.deepEqual(error.toJSON().cause, { name: 'Error', message: 'the cause', stack: cause.stack })
  }
  assert.deepEqual(new HoldfastError('STALLED', 'm', { cause: 'text' }).toJSON().cause, { message: 'text' })
  assert.equal('cause' in new HoldfastError('STALLED', 'm'), false)
})

test('errors that cause each other have an end in JSON', () => {
  const [one, two] = [new HoldfastError('STALLED', 'one'), new HoldfastError('STALLED', 'two')]
  one.cause = two
  two.cause = one
  assert.equal((JSON.parse(JSON.stringify(one)) as { cause: { message: string } }).cause.message, 'two')
})

test('isHoldfastError knows an error of another copy of the package, and nothing else', () => {
  const foreign = Object.assign(new Error('x'), { code: 'TIMEOUT', [Symbol.for('holdfast.error')]: true })
  assert.ok(isHoldfastError(foreign, 'TIMEOUT'))
  assert.equal(isHoldfastError(foreign, 'STALLED'), false)
  for (const value of [
    undefined,
    null,
    'TIMEOUT',
    { code: 'TIMEOUT' },
    Object.assign(new Error('x'), { code: 'TIMEOUT' }),
    invalidArgument('id', 'a string', 5),
    new Proxy(new Error('x'), { has: boom }),
    new Proxy({}, { getPrototypeOf: boom }),
  ]) {
    assert.equal(isHoldfastError(value), false)
  }
})

test('[Q7.10] a wrong argument: a TypeError that says what was expected and what came', () => {
  const error = invalidArgument('leaseMs', 'an integer >= 50', '30s')
  assert.ok(error instanceof TypeError && !(error instanceof HoldfastError))
  assert.deepEqual([error.name, error.code], ['TypeError', 'INVALID_ARGUMENT'])
  assert.equal(error.message, 'leaseMs: expected an integer >= 50, got "30s"')
})

test('[Q7.10] what came is shown shortly, whatever it is', () => {
  for (const [value, shown] of [
    ['x', '"x"'],
    ['a\nb', '"a\\nb"'],
    ['x'.repeat(100), `"${'x'.repeat(61)}..."`],
    [undefined, 'undefined'],
    [null, 'null'],
    [-0, '0'],
    [NaN, 'NaN'],
    [5n, '5n'],
    [Symbol('s'), 'Symbol(s)'],
    [() => {}, 'a function'],
    [[1, 2], 'an array of 2'],
    [{}, 'an object'],
    [Object.create(null), 'an object'],
    [new Date(0), 'an instance of Date'],
    [new Proxy({}, { get: () => assert.fail('no') }), 'an unprintable value'],
  ] as const) {
    assert.equal(printable(value), shown)
  }
})

test('docs/errors.md lists every code and no other, each with a class that exists', async () => {
  const page = await readFile(new URL('../../../docs/errors.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm)]
  assert.deepEqual(
    rows.map(([, code]) => code),
    Object.keys(errorCodes),
  )
  for (const [, code, classes, when, advice] of rows) {
    for (const [, name] of classes!.matchAll(/`(\w+)`/g)) {
      assert.ok(
        name === 'TypeError' || [holdfast, chains, tasks].some((entry) => Object.hasOwn(entry, name!)),
        `${code}: ${name} is not exported`,
      )
    }
    assert.ok(when!.length > 20 && advice!.length > 5, code)
  }
  // Every row was read: none is written so that it escapes the pattern.
  assert.equal(rows.length, page.split('\n').filter((line) => line.startsWith('| `')).length)
})
