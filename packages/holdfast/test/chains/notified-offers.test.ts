// A job that an add hands over comes with the hint of the storage. A worker whose hints go through a notifier would not hear of it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { notifiedStorage } from '../../src/chains/events/notified-storage.ts'
import { guardStorage } from '../../src/engine/guard.ts'
import type { Notifier } from '../../src/chains/events/notifier.ts'

test('[P6] with a notifier of the user’s, a storage that takes offers is one that takes none', () => {
  const memory = new MemoryStorage()
  const features = { ...memory.features, handsOver: true }
  Object.defineProperty(memory, 'features', { value: features })
  const notifier: Notifier = { notify: async () => {}, listen: async () => async () => {}, close: async () => {} }
  const guarded = guardStorage(memory, fakeClock(), () => {})
  assert.equal(guarded.features.handsOver, true)
  assert.deepEqual(notifiedStorage(guarded, notifier, () => {}).features, { ...features, handsOver: false })
})
