// A server of the benchmark: a port of 127.0.0.1 and the federation that is mounted on it.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createFederation,
  type Federation,
  type FederationOptions,
  generateKeyring,
  nodeListener,
} from '@holdfast/federation'

/** An open port. It exists before its federation, since each of two servers must allow the other's port. */
export interface OpenPort {
  readonly port: number
  readonly origin: string
  mount(parts: Parts): Promise<Federation>
  close(): Promise<void>
}

interface Parts extends Pick<FederationOptions, 'storage' | 'store' | 'handlers' | 'policies'> {
  readonly peerPort: number
}

export async function openPort(): Promise<OpenPort> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  let federation: Federation | undefined
  return {
    port,
    origin,
    mount: async ({ peerPort, ...parts }) => {
      const keyring = await generateKeyring()
      const http = { allowHttp: true, allowCidrs: ['127.0.0.0/8'], allowPorts: [peerPort] }
      federation = createFederation({ origin, keyring, http, ...parts })
      server.on('request', nodeListener(federation.handler))
      return federation
    },
    close: async () => {
      await federation?.stop()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
