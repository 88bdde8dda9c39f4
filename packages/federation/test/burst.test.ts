// A burst between two servers with default settings: everything arrives.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { sized } from '../../holdfast/test/full-size.ts'
import { createFederation } from '../src/create.ts'
import type { Federation } from '../src/federation.ts'
import { nodeListener } from '../src/inbound/node-listener.ts'
import { generateKeyring } from '../src/keyring.ts'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'

async function twoServers(t: TestContext): Promise<[Federation, Federation]> {
  const servers = [createServer(), createServer()]
  for (const server of servers) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  const made = await Promise.all(
    servers.map(async (server, index) => {
      const federation = createFederation({
        origin: `http://127.0.0.1:${ports[index]}`,
        storage: new MemoryStorage(),
        store: sqliteStore({ path: ':memory:' }),
        keyring: await generateKeyring(),
        http: { allowHttp: true, allowCidrs: ['127.0.0.0/8'], allowPorts: ports },
        handlers: { FEDERATE: () => ({ accepted: true }) },
      })
      server.on('request', nodeListener(federation.handler))
      t.after(async () => {
        await federation.stop({ graceMs: 0 })
        server.closeAllConnections()
        server.close()
      })
      return federation
    }),
  )
  return made as [Federation, Federation]
}

// More than the 120 requests a minute of an unknown address.
const count = sized(500, 130)

test(`${count} follows between two servers with default settings: all are delivered, none is refused`, async (t) => {
  const [alpha, beta] = await twoServers(t)
  const delivered = new Set<string>()
  const failures: object[] = []
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  alpha.on('delivered', ({ id }) => {
    if (delivered.add(id).size === count) end()
  })
  const failed = (event: object): void => {
    failures.push(event)
    end()
  }
  alpha.on('delivery_failing', failed)
  alpha.on('delivery_failed', failed)
  beta.on('refused', failed)
  await alpha.start()
  const request = { followingId: 'bob', serverUrl: beta.origin! }
  await Promise.all(Array.from({ length: count }, (_, n) => alpha.follow({ followerId: `follower-${n}`, ...request })))
  await ended
  assert.deepEqual([failures, delivered.size], [[], count])
})
