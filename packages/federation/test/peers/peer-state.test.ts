// The state of a peer as a pure function: how often a dead peer is contacted, and how soon one that returns.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { afterFailure, afterSuccess, type Failure, newPeer, type PeerState } from '../../src/peers/peer-state.ts'
import { hardenedPolicies } from '../../src/policies.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** A small generator of random numbers, so that every run is the same. */
function randomOf(seed: number): () => number {
  let state = seed + 1
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const fail = (before: PeerState, now: number, random: number, more: Partial<Failure> = {}): PeerState =>
  afterFailure(before, { now, random, ...more }, hardenedPolicies.contact)

/** Instants of the contacts with a peer that is dead from 0 on. */
function contactsOf(random: () => number, until: number, before: PeerState = newPeer): number[] {
  const contacts: number[] = []
  let state = before
  for (let now = 0; now <= until; now = state.nextContactAt) {
    contacts.push(now)
    state = fail(state, now, random())
  }
  return contacts
}

test('[G5] a dead peer is contacted at most 20 times in the first hour, and 60 times in a day', () => {
  for (let seed = 0; seed < 1_000; seed++) {
    const contacts = contactsOf(randomOf(seed), day)
    assert.ok(contacts.filter((at) => at <= hour).length <= 20, `seed ${seed}`)
    assert.ok(contacts.length <= 60, `seed ${seed}: ${contacts.length}`)
  }
})

test('[G6] after an outage the first contact comes within min(1 h, 2 T + 15 s), in the median within max(15 s, T)', () => {
  for (const outage of [5 * second, minute, 10 * minute, hour, day, 6 * day]) {
    const delays: number[] = []
    for (let seed = 0; seed < 1_000; seed++) {
      const contacts = contactsOf(randomOf(seed), outage + 2 * hour, afterSuccess(0))
      delays.push(contacts.find((at) => at >= outage)! - outage)
    }
    assert.ok(Math.max(...delays) <= Math.min(hour, 2 * outage + 15 * second), `${outage}: ${Math.max(...delays)}`)
    const median = delays.toSorted((a, b) => a - b)[500]!
    assert.ok(median <= Math.max(15 * second, outage), `${outage}: ${median}`)
  }
})

test('[G7] a thousand peers that return at once after ten minutes: in no second more than 5 % of them are contacted', () => {
  const outage = 10 * minute
  const first = Array.from({ length: 1_000 }, (_, seed) =>
    contactsOf(randomOf(seed * 7_919), outage + 2 * hour).find((at) => at >= outage)!,
  )
  const perSecond = new Map<number, number>()
  for (const at of first) perSecond.set(Math.floor(at / second), (perSecond.get(Math.floor(at / second)) ?? 0) + 1)
  assert.ok(Math.max(...perSecond.values()) <= 50, String(Math.max(...perSecond.values())))
})

test('suspect, down after five failures or ten minutes, dead after seven days without success', () => {
  let state = fail(newPeer, 0, 0.5)
  assert.deepEqual([state.state, state.failures, state.nextContactAt], ['suspect', 1, 7_500])
  for (let n = 2; n <= 4; n++) assert.equal((state = fail(state, n, 0)).state, 'suspect')
  assert.equal((state = fail(state, 5, 0)).state, 'down')
  assert.equal(fail(fail(newPeer, 0, 0), 10 * minute, 0).state, 'down')
  const dead = fail(state, 7 * day, 0)
  assert.equal(dead.state, 'dead')
  // A peer that was well yesterday is not dead, however long it took to notice.
  assert.equal(fail({ ...state, lastSuccessAt: 6.5 * day }, 7 * day, 0).state, 'down')
  assert.deepEqual(afterSuccess(9), { ...newPeer, state: 'healthy', lastSuccessAt: 9 })
})

test('no peer sinks below suspect while the network of this server is down', () => {
  let state = newPeer
  for (let n = 1; n <= 9; n++) state = fail(state, n * hour, 0, { isOwnOutage: true })
  assert.deepEqual([state.state, state.failures], ['suspect', 9])
  assert.equal(fail(state, 10 * hour, 0).state, 'down')
})

test('gone after three answers of 410 in a row, over a day at least; another failure starts anew', () => {
  const gone = (before: PeerState, now: number): PeerState => fail(before, now, 0, { saysGone: true })
  let state = gone(gone(gone(newPeer, 0), hour), 2 * hour)
  assert.notEqual(state.state, 'gone')
  assert.equal(gone(state, day).state, 'gone')
  state = gone(gone(fail(state, 3 * hour, 0), day), 2 * day)
  assert.notEqual(state.state, 'gone')
  assert.equal(gone(state, 2 * day + 1).state, 'gone')
})
