// Servers on loopback that count their connections, and a client that may contact them.

import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { systemClock } from 'holdfast/storage'
import { createHttpClient, type HttpOptions } from '../../src/http/client.ts'

export interface Listening {
  readonly port: number
  readonly url: string
  /** Connections accepted so far. */
  connections: number
  /** Bytes that it received. */
  bytes: number
  readonly sockets: Set<Socket>
}

export async function listening(t: TestContext, server: Server, host = '127.0.0.1'): Promise<Listening> {
  const sockets = new Set<Socket>()
  let port = 0
  const state: Listening = {
    get port() {
      return port
    },
    get url() {
      return `http://127.0.0.1:${port}`
    },
    connections: 0,
    bytes: 0,
    sockets,
  }
  server.on('connection', (socket) => {
    state.connections++
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => {
      sockets.delete(socket)
      state.bytes += socket.bytesRead
    })
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  port = (server.address() as AddressInfo).port
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return state
}

export const httpServer = (t: TestContext, listener: RequestListener): Promise<Listening> =>
  listening(t, createServer(listener))

/** A TCP server. Connections are counted before they are passed on. */
export async function tcpServer(t: TestContext, onConnection: (socket: Socket) => void): Promise<Listening> {
  const server = createTcpServer()
  const state = await listening(t, server)
  server.on('connection', onConnection)
  return state
}

/** Allows loopback, http and the ports of these servers. */
export function clientOf(
  t: TestContext,
  servers: readonly Pick<Listening, 'port'>[],
  options: HttpOptions = {},
  clock = systemClock,
): ReturnType<typeof createHttpClient> {
  const allowPorts = servers.map(({ port }) => port)
  const client = createHttpClient({ allowCidrs: ['127.0.0.0/8'], allowHttp: true, allowPorts, ...options }, clock)
  t.after(() => client.close())
  return client
}

export const get = { method: 'GET', timeoutMs: 10_000 } as const

/** Waits until the condition holds, with a check per turn of the event loop. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}
