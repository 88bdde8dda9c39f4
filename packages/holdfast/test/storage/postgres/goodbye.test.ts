// A process that stood still finds, in one read, that it is connected and that the server has ended the connection: whoever waits
// for it is not there yet. pg tells of it by an event, which must not find nobody, for that would end the process.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { database, server, statement } from './trial.ts'

const child = fileURLToPath(new URL('goodbye-child.ts', import.meta.url))

test('pg: a connection that is ended in the moment it is made', async (t) => {
  const { url } = await server(t)
  const name = 'the-ended-one'
  let stoodStill = 0
  const standStill = (): void => {
    const { status, stderr } = spawnSync(process.execPath, [child, url, name], { encoding: 'utf8', timeout: 20_000 })
    assert.equal(status, 0, stderr)
    stoodStill++
  }
  const onSocket = (message: unknown): void => {
    // The first one alone.
    unsubscribe('net.client.socket', onSocket)
    const { socket } = message as { socket: Socket }
    // After the library has said who it is, and before it hears anything.
    socket.once('connect', () => process.nextTick(standStill))
  }
  subscribe('net.client.socket', onSocket)
  t.after(() => unsubscribe('net.client.socket', onSocket))
  // It may fail, and says so; or it notices, and takes another.
  const options = { url: `${url}?application_name=${name}`, callTimeoutMs: 20_000 }
  const opened = await database(t, 'pg', options).catch((error: { code?: unknown }) => {
    assert.equal(error.code, 'STORAGE_ERROR')
    return database(t, 'pg', options)
  })
  assert.equal(stoodStill, 1)
  assert.deepEqual(await opened.query(statement('SELECT $1::text AS c0'), ['a']), [['a']])
})
