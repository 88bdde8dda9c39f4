// An outage of this server's own network.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OwnOutage } from '../../src/peers/own-outage.ts'

function outageOf(failed: number, well: number): OwnOutage {
  const outage = new OwnOutage()
  for (let n = 0; n < failed; n++) outage.note(`f${n}`, true, n)
  for (let n = 0; n < well; n++) outage.note(`w${n}`, false, n)
  return outage
}

test('more than half of at least 20 peers must fail', () => {
  assert.equal(outageOf(19, 0).isLikely, false)
  assert.equal(outageOf(20, 0).isLikely, true)
  assert.equal(outageOf(20, 20).isLikely, false)
  assert.equal(outageOf(21, 20).isLikely, true)
})

test('a peer counts once, by its last contact, and for a minute', () => {
  const outage = outageOf(20, 0)
  for (let n = 0; n < 5; n++) outage.note('f0', true, 30)
  assert.equal(outage.isLikely, true)
  for (let n = 0; n < 10; n++) outage.note(`f${n}`, false, 40)
  assert.equal(outage.isLikely, false)
  for (let n = 0; n < 10; n++) outage.note(`f${n}`, true, 50)
  assert.equal(outage.isLikely, true)
  outage.note('late', true, 60_030)
  assert.equal(outage.isLikely, false)
})

test('peers are bounded', () => {
  const outage = new OwnOutage()
  for (let n = 0; n < 20_000; n++) outage.note(`f${n}`, n < 10_000, 1)
  // The first 10,000, which failed, were forgotten.
  assert.equal(outage.isLikely, false)
})
