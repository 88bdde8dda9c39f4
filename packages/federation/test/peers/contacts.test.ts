// A state that was read before a contact: used if it is healthy, else read again.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from 'holdfast/storage'
import type { SendingContext } from '../../src/context.ts'
import { federationCodeOf } from '../../src/errors.ts'
import { PeerContacts } from '../../src/peers/contacts.ts'
import { afterSuccess, newPeer, type PeerState } from '../../src/peers/peer-state.ts'

const origin = 'https://a.example'
const healthy = afterSuccess(1)

/** @param stored state of the peer in the tables */
function scene(stored: PeerState): { contacts: PeerContacts; context: SendingContext; reads: () => number } {
  let reads = 0
  const peerStates = { get: async () => (reads++, stored) }
  const holds = { hold: async () => {}, release: async () => {}, held: async () => [] }
  const contacts = new PeerContacts({ holds, scheduleContact: async () => {} }, 4)
  const context = { clock: systemClock, store: { peerStates } } as unknown as SendingContext
  return { contacts, context, reads: () => reads }
}

test('a healthy state that was read a moment ago is not read again', async () => {
  const { contacts, context, reads } = scene(healthy)
  const { known, end } = await contacts.begin(context, origin, undefined, healthy)
  end()
  assert.deepEqual([known, reads()], [healthy, 0])
})

test('any other state is read again: a contact that failed meanwhile holds the peer', async () => {
  const held: PeerState = { ...newPeer, state: 'suspect', failures: 1, nextContactAt: systemClock.now() + 60_000 }
  const { contacts, context, reads } = scene(held)
  const begun = contacts.begin(context, origin, undefined, newPeer)
  await assert.rejects(begun, (error) => federationCodeOf(error) === 'PEER_HELD')
  assert.equal(reads(), 1)
})
