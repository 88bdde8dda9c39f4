// The longest run that a job sets itself: it counts instead of that of its type, on every face (F16).

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faceBench, faceNames } from './faces.ts'

const cases: readonly [ofType: number | undefined, ofJob: number | undefined, endsAt: number | undefined][] = [
  [undefined, 2_000, 2_000],
  [5_000, 2_000, 2_000],
  [2_000, 5_000, 5_000],
  [2_000, undefined, 2_000],
  [undefined, undefined, undefined],
]

for (const face of faceNames) {
  for (const [ofType, ofJob, endsAt] of cases) {
    test(`[F16] ${face}: a type with ${ofType ?? 'no'} ms and a job with ${ofJob ?? 'no'} ms`, async (t) => {
      const aborts: [at: number, code: string][] = []
      const bench = await faceBench(t, face, { timeoutMs: ofType, maxAttempts: 1 }, ({ signal }) => {
        const startedAt = bench.clock.now()
        const onAbort = (): void => void aborts.push([bench.clock.now() - startedAt, signal.reason.code])
        signal.addEventListener('abort', onAbort)
        return new Promise(() => {})
      })
      await bench.add({ timeoutMs: ofJob })
      await bench.clock.advance(10_000)
      assert.deepEqual(aborts, endsAt === undefined ? [] : [[endsAt, 'ATTEMPT_TIMEOUT']])
      assert.equal((await bench.record()).state, endsAt === undefined ? 'processing' : 'failed')
    })
  }
}
