import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PeerAgents } from '../../src/http/peer-agents.ts'

const never = (): void => undefined

test('a peer has one agent while it is in use', () => {
  const agents = new PeerAgents(never, 2)
  const first = agents.acquire('https://a.example')
  first.release()
  assert.equal(agents.acquire('https://a.example').agent, first.agent)
})

test('the least recently used peer is evicted first', () => {
  const agents = new PeerAgents(never, 2)
  const agentOf = (origin: string): unknown => {
    const held = agents.acquire(origin)
    held.release()
    return held.agent
  }
  const a = agentOf('a')
  const b = agentOf('b')
  assert.equal(agentOf('a'), a)
  agentOf('c')
  assert.equal(agentOf('a'), a)
  assert.notEqual(agentOf('b'), b)
  assert.equal(agents.size, 2)
})

test('an evicted agent that is in use is destroyed at its release', (t) => {
  const agents = new PeerAgents(never, 1)
  const used = agents.acquire('a')
  const again = agents.acquire('a')
  const destroy = t.mock.method(used.agent, 'destroy')
  agents.acquire('b')
  assert.equal(agents.size, 1)
  used.release()
  assert.equal(destroy.mock.callCount(), 0)
  again.release()
  assert.equal(destroy.mock.callCount(), 1)
})
