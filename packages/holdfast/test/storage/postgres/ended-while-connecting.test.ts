// A process whose event loop was blocked reads at once that it is connected and that the server has terminated the connection, before
// the code that awaits the connection runs. pg emits `error` then; without a listener, that would end the process.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { database, server, statement } from './fixtures.ts'

const child = fileURLToPath(new URL('end-connection-child.ts', import.meta.url))

test('pg: the server terminates a connection the moment it is established', async (t) => {
  const { url } = await server(t)
  const name = 'terminated'
  let blocks = 0
  const block = (): void => {
    const { status, stderr } = spawnSync(process.execPath, [child, url, name], { encoding: 'utf8', timeout: 20_000 })
    assert.equal(status, 0, stderr)
    blocks++
  }
  const onSocket = (message: unknown): void => {
    // Only the first socket.
    unsubscribe('net.client.socket', onSocket)
    const { socket } = message as { socket: Socket }
    // After the library has sent its startup message, and before it reads anything.
    socket.once('connect', () => process.nextTick(block))
  }
  subscribe('net.client.socket', onSocket)
  t.after(() => unsubscribe('net.client.socket', onSocket))
  // It either rejects, or notices the loss and opens another connection.
  const options = { url: `${url}?application_name=${name}`, callTimeoutMs: 20_000 }
  const opened = await database(t, 'pg', options).catch((error: { code?: unknown }) => {
    assert.equal(error.code, 'STORAGE_ERROR')
    return database(t, 'pg', options)
  })
  assert.equal(blocks, 1)
  assert.deepEqual(await opened.query(statement('SELECT $1::text AS c0'), ['a']), [['a']])
})
