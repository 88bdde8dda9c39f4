// Slots for peers that answer slowly.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SlowPeers } from '../../src/peers/slow-peers.ts'

test('a peer is slow by the average of its contacts: one that takes 15 s makes it slow, quick ones make it quick again', () => {
  const slow = new SlowPeers(2)
  const contact = (origin: string, from: number, to: number): void => slow.take(origin, 'healthy', from)!.end(to)
  contact('a', 0, 15_000)
  // The one slot for slow peers is taken.
  const other = slow.take('unwell', 'unwell', 15_000)!
  assert.equal(slow.take('a', 'healthy', 15_000), undefined)
  assert.ok(slow.take('b', 'healthy', 15_000), 'others go on')
  other.end(15_001)
  for (let n = 0; n < 3; n++) contact('a', 15_001, 15_001)
  slow.take('unwell', 'unwell', 16_000)
  assert.ok(slow.take('a', 'healthy', 16_000))
})

test('a new peer counts once its contact is late; slow ones and unwell ones count at once, and leave slots for new ones', () => {
  const slow = new SlowPeers(4)
  for (const origin of ['a', 'b', 'c']) assert.ok(slow.take(origin, 'new', 0))
  assert.ok(slow.take('d', 'new', 2_000))
  assert.equal(slow.take('e', 'new', 2_001), undefined)
  assert.equal(slow.take('f', 'unwell', 2_001), undefined)
  assert.ok(slow.take('g', 'healthy', 2_001))

  const other = new SlowPeers(4)
  for (const origin of ['a', 'b']) assert.ok(other.take(origin, 'unwell', 0))
  assert.equal(other.take('c', 'unwell', 0), undefined)
  assert.ok(other.take('d', 'new', 0))
})

test('a slot is given back once', () => {
  const slow = new SlowPeers(2)
  const slot = slow.take('a', 'unwell', 0)!
  slot.end(1)
  slot.end(100_000)
  slow.take('b', 'unwell', 100_000)!.end(100_000)
  assert.ok(slow.take('a', 'healthy', 100_000))
})

test('averages are kept of so many peers only', () => {
  const slow = new SlowPeers(2)
  for (let n = 0; n <= 10_000; n++) slow.take(`p${n}`, 'healthy', 0)!.end(15_000)
  slow.take('unwell', 'unwell', 0)
  assert.ok(slow.take('p0', 'healthy', 0), 'the oldest one is forgotten')
  assert.equal(slow.take('p1', 'healthy', 0), undefined)
})
