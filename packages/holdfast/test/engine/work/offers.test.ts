// What a worker knows about its offers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeClock } from 'holdfast/testing'
import { handedWorker, type ClaimedJob, type ClaimRequest } from 'holdfast/storage'
import { Offers } from '../../../src/engine/work/offers.ts'

const types = [{ type: 'mail', leaseMs: 30_000 }]
const outcomes = [{ type: 'mail', id: 'earlier', worker: 'w/0', attempt: 1, kind: 'completed' as const }]
const request = (number: number): ClaimRequest => ({ worker: `w/${number}`, slots: 1, types, outcomes })
const handed = (number: number): ClaimedJob => ({ worker: handedWorker(`w/${number}`, 1) }) as ClaimedJob

function newOffers() {
  const clock = fakeClock()
  const offers = new Offers({ clock, by: 'w', isOn: true })
  return { clock, offers, make: (number: number) => offers.make(request(number), 1, clock.monotonic()) }
}

test('[P6] a job is taken once, and only by an offer of this worker that was not withdrawn', () => {
  const { offers, make } = newOffers()
  for (const number of [1, 2]) assert.deepEqual(make(number), { by: 'w', slots: 1 })
  offers.withdraw('w/1')
  assert.deepEqual(
    [1, 2, 2, 3].map((number) => typeof offers.take(handed(number))),
    ['string', 'number', 'string', 'string'],
  )
  assert.deepEqual(
    [1, 2].map((number) => offers.take(handed(number))),
    ['other', 'known'],
  )
})

test('[P6] offers are forgotten once the leases of their jobs are over', async () => {
  const { clock, offers, make } = newOffers()
  make(1)
  await clock.advance(600)
  make(2)
  await clock.advance(600)
  make(3)
  assert.deepEqual(
    [1, 2, 3].map((number) => offers.take(handed(number)) === 'other'),
    [true, false, false],
  )
})
