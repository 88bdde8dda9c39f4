// Directives and onError: what a failed attempt ends in, the same on every face (F12, F18).

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ErrorAnswer, fail, retry, snooze, UnrecoverableError } from 'holdfast'
import { faceBench, type FaceHandler, faceNames, type FaceOptions } from './faces.ts'

const backoff = { type: 'fixed', delayMs: 1_000 } as const

const throwing = (thrown: unknown): FaceHandler => {
  return () => {
    throw thrown
  }
}

for (const face of faceNames) {
  /** Runs the job for 20 s: when its runs began, and what it has become. */
  const outcome = async (t: Parameters<typeof faceBench>[0], options: FaceOptions, handler: FaceHandler) => {
    const starts: number[] = []
    const bench = await faceBench(t, face, { backoff, maxAttempts: 2, ...options }, (run) => {
      starts.push(bench.clock.now() - startedAt)
      return handler(run)
    })
    const startedAt = bench.clock.now()
    await bench.add()
    await bench.clock.advance(20_000)
    const { state, failures, snoozes } = await bench.record()
    return { bench, starts, state, failures, snoozes }
  }

  for (const way of ['returned', 'thrown'] as const) {
    const give = (directive: Error): unknown => {
      if (way === 'thrown') throw directive
      return directive
    }

    test(`[F12] ${face}: retry() ${way} runs again after the backoff, and maxAttempts rules over it`, async (t) => {
      const { bench, ...seen } = await outcome(t, {}, () => give(retry({ cause: new Error('busy') })))
      assert.deepEqual(seen, { starts: [0, 1_000], state: 'failed', failures: 2, snoozes: 0 })
      assert.equal((await bench.error()).message, 'busy')
    })

    test(`[F12] ${face}: retry({ delayMs }) ${way} runs again after that delay`, async (t) => {
      const { bench, ...seen } = await outcome(t, {}, () => give(retry({ delayMs: 5_000 })))
      assert.deepEqual(seen, { starts: [0, 5_000], state: 'failed', failures: 2, snoozes: 0 })
      assert.equal((await bench.error()).code, 'RETRY_REQUESTED')
    })

    test(`[F18] ${face}: snooze() ${way} more often than maxSnoozes fails the job with a clear error`, async (t) => {
      const { bench, ...seen } = await outcome(t, { maxSnoozes: 2 }, () =>
        give(snooze({ delayMs: 1_000, cause: new Error('closed') })),
      )
      assert.deepEqual(seen, { starts: [0, 1_000, 2_000], state: 'failed', failures: 1, snoozes: 2 })
      const error = await bench.error()
      assert.equal(error.code, 'MAX_SNOOZES')
      assert.match(error.message, /^Job 'a': it was snoozed 2 times, its maxSnoozes, .* It failed\. Raise maxSnoozes/)
      assert.equal(error.cause?.message, 'closed')
    })
  }

  test(`[F18] ${face}: maxSnoozes 0 allows none`, async (t) => {
    const { bench: _, ...seen } = await outcome(t, { maxSnoozes: 0 }, () => snooze({ delayMs: 1_000 }))
    assert.deepEqual(seen, { starts: [0], state: 'failed', failures: 1, snoozes: 0 })
  })

  const answers: readonly [
    what: string,
    answer: () => ErrorAnswer | Promise<ErrorAnswer>,
    expected: { starts: number[]; state: string; failures: number; snoozes: number },
  ][] = [
    ['undefined', () => undefined, { starts: [0, 1_000], state: 'failed', failures: 2, snoozes: 0 }],
    ['retry()', () => retry(), { starts: [0, 1_000], state: 'failed', failures: 2, snoozes: 0 }],
    [
      'retry({ delayMs })',
      () => retry({ delayMs: 3_000 }),
      { starts: [0, 3_000], state: 'failed', failures: 2, snoozes: 0 },
    ],
    [
      'a promise',
      async () => retry({ delayMs: 3_000 }),
      { starts: [0, 3_000], state: 'failed', failures: 2, snoozes: 0 },
    ],
    ['fail()', () => fail(), { starts: [0], state: 'failed', failures: 1, snoozes: 0 }],
    [
      'snooze()',
      () => snooze({ delayMs: 15_000 }),
      { starts: [0, 15_000], state: 'scheduled', failures: 0, snoozes: 2 },
    ],
    ['another value', () => 'retry' as never, { starts: [0, 1_000], state: 'failed', failures: 2, snoozes: 0 }],
  ]
  for (const [what, answer, expected] of answers) {
    test(`[F12] ${face}: onError answers ${what}; the error of the handler is recorded`, async (t) => {
      const thrown = new Error('the server is busy')
      const asked: unknown[] = []
      const onError = (error: unknown): ErrorAnswer | Promise<ErrorAnswer> => {
        asked.push(error)
        return answer()
      }
      const { bench, ...seen } = await outcome(t, { onError }, throwing(thrown))
      assert.deepEqual(seen, expected)
      assert.equal((await bench.error()).message, 'the server is busy')
      assert.equal(asked.length, expected.starts.length)
      assert.ok(asked.every((error) => error === thrown))
    })
  }

  test(`[F12] ${face}: an onError that throws changes nothing`, async (t) => {
    const { bench, ...seen } = await outcome(t, { onError: () => assert.fail('in onError') }, throwing('a text'))
    assert.deepEqual(seen, { starts: [0, 1_000], state: 'failed', failures: 2, snoozes: 0 })
    assert.equal((await bench.error()).message, 'a text')
  })

  test(`[F12] ${face}: UnrecoverableError fails at once`, async (t) => {
    const { bench: _, ...seen } = await outcome(t, {}, throwing(new UnrecoverableError('no such user')))
    assert.deepEqual(seen, { starts: [0], state: 'failed', failures: 1, snoozes: 0 })
  })
}

test('retry() refuses what is no delay', () => {
  assert.throws(() => retry({ delayMs: -1 }), { code: 'INVALID_ARGUMENT' })
  assert.throws(() => retry({ runAt: 5 } as never), { code: 'INVALID_ARGUMENT' })
})
