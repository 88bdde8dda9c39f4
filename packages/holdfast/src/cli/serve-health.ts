// The health checks of `holdfast work`, over HTTP.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { healthHandler, type HealthSource } from '../engine/health-handler.ts'

/** @throws if the port is taken */
export async function serveHealth(
  sources: readonly HealthSource[],
  port: number,
  host: string,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const handle = healthHandler(...sources)
  const server = createServer(async (request, response) => {
    const { method = 'GET', url = '/' } = request
    try {
      // The path alone: a request line may hold anything.
      const answer = await handle(
        new Request(`http://localhost/${url.split('?', 1)[0]!.replace(/^\/+/, '')}`, { method }),
      )
      response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
    } catch {
      response.writeHead(400).end()
    }
  })
  server.listen(port, host)
  await once(server, 'listening')
  const { address, port: bound } = server.address() as AddressInfo
  return {
    url: `http://${address.includes(':') ? `[${address}]` : address}:${bound}`,
    async close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
