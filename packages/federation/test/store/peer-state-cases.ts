// Cases of the table peer_states.

import assert from 'node:assert/strict'
import { afterFailure, newPeer } from '../../src/peers/peer-state.ts'
import type { Case } from './subject.ts'

const now = 1_767_225_600_000
const origin = 'https://b.example'

export const peerStateCases: Case[] = [
  {
    name: 'concurrent changes of a state are all counted',
    async run({ store }) {
      assert.equal(await store.peerStates.get(origin), undefined)
      const change = (): Promise<unknown> =>
        store.peerStates.change(origin, now, (before = newPeer) => afterFailure(before, now, 0))
      await Promise.all(Array.from({ length: 5 }, change))
      const state = (await store.peerStates.get(origin))!
      assert.deepEqual([state.state, state.failures, state.firstFailedAt], ['down', 5, now])
    },
  },
  {
    name: 'a change may be declined by the instant of the last one',
    async run({ store }) {
      const first = await store.peerStates.change(origin, now, () => afterFailure(newPeer, now, 0))
      const seen: (number | undefined)[] = []
      const second = await store.peerStates.change(origin, now + 1, (_, changedAt) => void seen.push(changedAt))
      assert.deepEqual([second, seen], [first, [now]])
    },
  },
  {
    name: 'peers whose contact is due are listed page by page, healthy ones never',
    async run({ store }) {
      for (const [n, name] of ['a', 'b', 'c', 'd'].entries()) {
        const state = name === 'c' ? 'healthy' : 'suspect'
        const next = { ...newPeer, state, nextContactAt: now + n } as const
        await store.peerStates.change(`https://${name}.example`, now, () => next)
      }
      assert.deepEqual(await store.peerStates.listDue(now + 9, '', 2), ['https://a.example', 'https://b.example'])
      assert.deepEqual(await store.peerStates.listDue(now + 9, 'https://b.example', 2), ['https://d.example'])
      assert.deepEqual(await store.peerStates.listDue(now + 1, '', 9), ['https://a.example'])
    },
  },
]
