// Cases of the table peer_states.

import assert from 'node:assert/strict'
import { afterFailure, afterSuccess, newPeer, type PeerState } from '../../src/peers/peer-state.ts'
import { hardenedPolicies } from '../../src/policies.ts'
import type { Case } from './subject.ts'

const now = 1_767_225_600_000
const origin = 'https://b.example'

const failed = (before: PeerState): PeerState => afterFailure(before, { now, random: 0 }, hardenedPolicies.contact)

export const peerStateCases: Case[] = [
  {
    name: 'concurrent changes of a state are all counted',
    async run({ store }) {
      assert.equal(await store.peerStates.get(origin), undefined)
      const change = (): Promise<unknown> => store.peerStates.change(origin, now, (before = newPeer) => failed(before))
      await Promise.all(Array.from({ length: 5 }, change))
      const state = (await store.peerStates.get(origin))!
      assert.deepEqual([state.state, state.failures, state.firstFailedAt], ['down', 5, now])
    },
  },
  {
    name: 'a change may be declined by the instant of the last one',
    async run({ store }) {
      const first = await store.peerStates.change(origin, now, () => failed(newPeer))
      const seen: (number | undefined)[] = []
      const second = await store.peerStates.change(origin, now + 1, (_, changedAt) => void seen.push(changedAt))
      assert.deepEqual([second, seen], [first, [now]])
    },
  },
  {
    name: 'every field of a state is stored',
    async run({ store }) {
      const state: PeerState = {
        state: 'gone',
        failures: 1,
        firstFailedAt: 2,
        lastSuccessAt: 3,
        nextContactAt: 4,
        goneProbes: 5,
        goneSince: 6,
      }
      for (const changed of [state, { ...state, goneProbes: 0, goneSince: undefined }]) {
        await store.peerStates.change(origin, now, () => changed)
        assert.deepEqual(await store.peerStates.get(origin), changed)
      }
    },
  },
  {
    name: 'states expire that nothing waits for; of peers that were never reached only so many stay',
    async run({ store }) {
      const names = ['a', 'b', 'c', 'd', 'e'].map((name) => `https://${name}.example`)
      for (const [n, name] of names.entries()) {
        await store.peerStates.change(name, now + n, () => (n === 0 ? afterSuccess(now) : newPeer))
      }
      assert.deepEqual(await store.peerStates.counts(), { healthy: 1, unproven: 4 })
      assert.equal(await store.peerStates.evict(3, 10), 1)
      assert.equal(await store.peerStates.get(names[1]!), undefined)
      const waiting = { id: 'w', name: 'n', targetUrl: `${names[2]}/inbox`, serverUrl: names[2]!, payload: '{}' }
      await store.deliveries.insert({ ...waiting, createdAt: now })
      assert.equal(await store.peerStates.expire(now + 4, 10), 2)
      assert.deepEqual(await store.peerStates.counts(), { unproven: 2 })
    },
  },
]
