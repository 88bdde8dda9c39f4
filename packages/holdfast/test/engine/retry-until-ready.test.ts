// Tries against a storage that stays away for long: nothing gathers on the signal, which may live as long as the process.

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { retryUntilReady } from 'holdfast'
import { fakeClock } from 'holdfast/testing'

test('[trap 38] tries that fail leave no listener on the signal', async () => {
  const clock = fakeClock()
  const { signal } = new AbortController()
  let most = 0
  const left = new Set(Array.from({ length: 100 }, (_, n) => n))
  const ready = retryUntilReady(async () => left.delete(100 - left.size) && left.size > 0 && assert.fail('away'), {
    clock,
    signal,
    always: true,
    onFailure: () => (most = Math.max(most, getEventListeners(signal, 'abort').length)),
  })
  while (left.size > 0) await clock.advance(5_000)
  assert.equal(await ready, true)
  assert.equal(most, 0)
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})
