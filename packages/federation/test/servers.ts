// Federations on loopback that may reach each other.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { createFederation, type FederationOptions } from '../src/create.ts'
import type { Federation } from '../src/federation.ts'
import { nodeListener } from '../src/inbound/node-listener.ts'
import { generateKeyring } from '../src/keyring.ts'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'

export type Options = Partial<FederationOptions>

/** @param count of servers @param optionsOf options of the server with this number */
export async function servers(
  t: TestContext,
  count: number,
  optionsOf: (index: number) => Options = () => ({}),
): Promise<Federation[]> {
  const listeners = Array.from({ length: count }, () => createServer())
  for (const server of listeners) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const ports = listeners.map((server) => (server.address() as AddressInfo).port)
  return Promise.all(
    listeners.map(async (server, index) => {
      const federation = createFederation({
        origin: `http://127.0.0.1:${ports[index]}`,
        storage: new MemoryStorage(),
        store: sqliteStore({ path: ':memory:' }),
        keyring: await generateKeyring(),
        http: { allowHttp: true, allowCidrs: ['127.0.0.0/8'], allowPorts: ports },
        handlers: { FEDERATE: () => ({ accepted: true }) },
        ...optionsOf(index),
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
}
