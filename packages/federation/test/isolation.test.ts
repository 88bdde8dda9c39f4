// Dead peers beside healthy ones: whatever a dead peer does, the others get everything while it does it.

import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { sized } from '../../holdfast/test/full-size.ts'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import { bench, until } from './seed/bench.ts'
import { type TestPeer, World } from './seed/world.ts'

const world = await new World().start()
after(() => world.stop())

const peers = sized(200, 20)
const rounds = 5

test(`[G1] ${peers} peers, 30 % of them dead in five ways: the healthy ones get everything while the dead ones still hang`, async (t) => {
  const place = {
    name: 'memory',
    open: async () => {
      const storage = new MemoryStorage()
      return { storage, store: sqliteStore({ path: ':memory:' }), close: async () => {} }
    },
  }
  // Connections of peers that never answer are open until the end of the test: no deadline ends them.
  const timeoutMs = 10 * 60_000
  const open = new Set<Socket>()
  const blackhole = createServer((socket) => void open.add(socket))
  await new Promise<void>((resolve) => blackhole.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of open) socket.destroy()
    blackhole.close()
  })
  const { port } = blackhole.address() as { port: number }
  const http = world.http()
  const it = await bench(t, place, world, {
    profile: 'hardened',
    http: { ...http, allowPorts: [...http.allowPorts!, port] },
    policies: { delivery: { timeoutMs, connectTimeoutMs: timeoutMs } },
  })
  const targets = await Promise.all(
    Array.from({ length: peers }, async (_, n): Promise<{ origin: string; peer: TestPeer | undefined }> => {
      const peer = await it.peer()
      const pin = (origin: string): Promise<unknown> => it.store.peers.pin({ ...peer.text, url: origin }, 1_000)
      if (n % 10 >= 3) return { origin: peer.origin, peer }
      const way = Math.floor(n / 10) * 3 + (n % 10)
      const origins = [
        `http://n${n}.test:${port}`,
        `http://n${n}.test:${world.closedPort}`,
        `http://n${n}.invalid:${world.port}`,
      ]
      const origin = origins[way % 5]
      if (origin === undefined) {
        // 503, or a reply that never ends.
        if (way % 5 === 3) peer.onInbox = () => ({ status: 503, body: {} })
        else peer.mode = 'silent'
        return { origin: peer.origin, peer: undefined }
      }
      await pin(origin)
      return { origin, peer: undefined }
    }),
  )
  await it.federation.start()
  const origins = targets.map(({ origin }) => origin)
  const healthy = targets.filter(({ peer }) => peer !== undefined)
  const arrived = (): number => healthy.reduce((sum, { peer }) => sum + peer!.delivered.length, 0)
  for (let round = 1; round <= rounds; round++) {
    const payload = { method: 'INSERT', id: `i${round}`, createdAt: new Date().toISOString(), data: round }
    for (const { peer } of healthy) {
      peer!.onInbox = (plain) => {
        const { id } = JSON.parse(plain) as { id: string }
        return peer!.ack({ method: 'INSERT', federationUrl: peer!.origin, id })
      }
    }
    await it.federation.send({ payload }, origins)
    await until(() => arrived() === round * healthy.length, `round ${round}`)
  }
  assert.ok(open.size > 0, 'a dead peer still holds its connection')
  assert.ok(!it.events.some(({ name }) => name === 'delivery_failed'))
})
