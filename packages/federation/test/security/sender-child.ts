// Requests URLs with the guarded client, one after the other, in its own process. Sends its parent the result of each, the bytes\n// read, and the peak growth of the process. All names resolve to loopback.

import { createConnection, type Socket } from 'node:net'
import { systemClock } from 'holdfast/storage'
import { createHttpClient } from '../../src/http/client.ts'
import { transportReasonOf } from '../../src/http/transport-error.ts'

export interface Sent {
  readonly status?: number
  readonly code?: string
  readonly reason?: string
  readonly bytesRead: number
  readonly grownBy: number
}

export interface Order {
  readonly urls: readonly string[]
  /** Requested often before the others, so that the costs of a first request are not measured. */
  readonly warmUp?: string
}

const { urls, warmUp } = JSON.parse(process.argv[2]!) as Order
const sockets: Socket[] = []
const client = createHttpClient(
  {
    allowCidrs: ['127.0.0.0/8'],
    allowHttp: true,
    allowPorts: urls.map((url) => Number(new URL(url).port)),
    resolver: async () => [{ address: '127.0.0.1', family: 4 }],
    connector: ({ address, port }) => {
      const socket = createConnection(port, address.address)
      sockets.push(socket)
      return socket
    },
  },
  systemClock,
)
const request = { method: 'GET', timeoutMs: 60_000 } as const
const bytesRead = (): number => sockets.reduce((sum, socket) => sum + socket.bytesRead, 0)
const highest = (): number => process.resourceUsage().maxRSS * 1024

async function ask(url: string): Promise<Sent> {
  const before = { bytesRead: bytesRead(), highest: highest() }
  const outcome = await client.request(url, request).then(
    ({ status }) => ({ status }),
    (error: { code?: string }) => ({ code: error.code, reason: transportReasonOf(error) }),
  )
  return { ...outcome, bytesRead: bytesRead() - before.bytesRead, grownBy: highest() - before.highest }
}

if (warmUp) for (let count = 0; count < 100; count++) await client.request(warmUp, request)
const all: Sent[] = []
for (const url of urls) all.push(await ask(url))
process.send!(all)
client.close()
process.disconnect()
