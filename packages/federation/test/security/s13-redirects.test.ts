import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientOf, get, httpServer } from '../http/listen.ts'

for (const status of [301, 302, 303, 307, 308]) {
  test(`[S13] a redirect is a response and is not followed: ${status}`, async (t) => {
    const trap = await httpServer(t, (_, response) => response.end())
    const server = await httpServer(t, (_, response) => {
      response.writeHead(status, { location: `${trap.url}/taken` }).end()
    })
    const client = clientOf(t, [server, trap])
    for (const method of ['GET', 'POST'] as const) {
      const body = method === 'POST' ? 'secret' : undefined
      const response = await client.request(`${server.url}/`, { ...get, method, body })
      assert.equal(response.status, status)
    }
    assert.equal(trap.connections, 0)
  })
}
