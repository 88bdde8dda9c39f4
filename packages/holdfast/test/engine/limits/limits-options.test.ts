// The limits as they are given: what is refused, and what is resolved.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type LimitsOptions,
  resolveGroupPatch,
  resolveLimits,
  resolvePatch,
} from '../../../src/engine/limits/limits-options.ts'

const rate = { limit: 100, perMs: 60_000 }

test('[F20] [F21] [F22] [F24] declared limits come back complete', () => {
  const given = { concurrency: 50, rate, maxWaiting: 1_000, group: { limit: 1, rate, maxWaiting: 10 } }
  assert.deepEqual(resolveLimits(given), { ...given, group: { ...given.group, onFailure: 'continue', fair: true } })
  assert.deepEqual(resolveLimits({}), {})
  assert.deepEqual(resolveLimits({ concurrency: undefined, maxWaiting: Infinity }), { maxWaiting: Infinity })
  assert.deepEqual(resolveLimits({ group: { onFailure: 'hold', fair: false } }), {
    group: { onFailure: 'hold', fair: false },
  })
})

const wrong: readonly [path: string, limits: unknown][] = [
  ['concurrency', { concurrency: 0 }],
  ['concurrency', { concurrency: 1.5 }],
  ['concurrency', { concurrency: '5' }],
  ['concurrency', { concurrency: 2 ** 60 }],
  ['concurrency', { concurrency: null }],
  ['rate', { rate: 5 }],
  ['rate.limit', { rate: { perMs: 1_000 } }],
  ['rate.perMs', { rate: { limit: 5 } }],
  ['limit', { rate: { limit: 0, perMs: 1_000 } }],
  ['perMs', { rate: { limit: 1, perMs: 0 } }],
  ['maxWaiting', { maxWaiting: -1 }],
  ['group', { group: 'one' }],
  ['limit', { group: { limit: 0 } }],
  ['rate.perMs', { group: { rate: { limit: 5 } } }],
  ['maxWaiting', { group: { maxWaiting: 0 } }],
  ['onFailure', { group: { onFailure: 'stop' } }],
  ['fair', { group: { fair: 'yes' } }],
  ['limits', 'few'],
]

test('[F20] [F22] a wrong limit is refused with its name', () => {
  for (const [path, limits] of wrong) {
    assert.throws(
      () => resolveLimits(limits as LimitsOptions),
      (error: TypeError & { code?: string }) => {
        assert.equal(error.code, 'INVALID_ARGUMENT', JSON.stringify(limits))
        assert.ok(error.message.includes(path), `${path}: ${error.message}`)
        return true
      },
    )
  }
})

test('[F20] an unknown limit is refused, with the one that was meant', () => {
  const hints: readonly [limits: object, meant: string][] = [
    [{ concurency: 5 }, 'concurrency'],
    [{ maxwaiting: 5 }, 'maxWaiting'],
    [{ rate: { limit: 5, perMS: 1_000 } }, 'perMs'],
    [{ rate: { limit: 5, duration: 1_000 } }, 'perMs'],
    [{ rate: { limit: 5, windowMs: 1_000 } }, 'perMs'],
    [{ rate: { max: 5, perMs: 1_000 } }, 'limit'],
    [{ group: { onfailure: 'hold' } }, 'onFailure'],
    [{ group: { concurrency: 1 } }, 'limit'],
    [{ groups: { limit: 1 } }, 'group'],
  ]
  for (const [limits, meant] of hints) {
    assert.throws(() => resolveLimits(limits), {
      code: 'INVALID_ARGUMENT',
      message: new RegExp(`did you mean ${meant}`),
    })
  }
})

test('[F20] a patch may have null for each limit, and has no defaults', () => {
  const patch = { concurrency: null, rate, group: { limit: null, fair: false } }
  assert.deepEqual(resolvePatch(patch), patch)
  assert.deepEqual(resolvePatch({ group: null }), { group: null })
  assert.deepEqual(resolveGroupPatch({ limit: 5, onFailure: null }), { limit: 5, onFailure: null })
  assert.throws(() => resolvePatch({ concurrency: 0 }), { code: 'INVALID_ARGUMENT' })
  assert.throws(() => resolvePatch({ group: { limits: 1 } as object }), { message: /did you mean limit/ })
  // A group has no groups, and cannot be fair alone.
  assert.throws(() => resolveGroupPatch({ concurrency: 1 } as object), { message: /did you mean limit/ })
  assert.throws(() => resolveGroupPatch({ fair: true } as object), { code: 'INVALID_ARGUMENT' })
})
