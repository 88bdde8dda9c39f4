// Memory per unknown origin is bounded.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PeerAgents } from '../../src/http/peer-agents.ts'
import { clientOf, get } from '../http/listen.ts'

test('[S22] 100 000 origins: the agents stay at their limit', () => {
  const agents = new PeerAgents(() => undefined)
  for (let count = 0; count < 100_000; count++) agents.acquire(`https://${count}.example`).release()
  assert.equal(agents.size, 1024)
})

test('[S22] in the client: unreachable peers are bounded, too', async (t) => {
  const client = clientOf(t, [], { resolver: async () => [] })
  const origins = Array.from({ length: 1_100 }, (_, index) => `https://${index}.example/`)
  const outcomes = await Promise.allSettled(origins.map((origin) => client.request(origin, get)))
  assert.ok(outcomes.every(({ status }) => status === 'rejected'))
  assert.equal(client.peers, 1024)
})
