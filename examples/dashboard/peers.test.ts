// The peers of a federation in the dashboard: what is shown of them, and what an operator does.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDashboard, permissions } from '@holdfast/dashboard'
import { createFederation, generateKeyring, sqliteStore } from '@holdfast/federation'
import { createAdmin, MemoryStorage } from 'holdfast'

const address = 'http://jobs.example'
const peer = (n: number): string => `https://server-${n}.example`

interface Shown {
  readonly origin: string
  readonly state: string
  readonly why?: string
  readonly open: number
  readonly isPaused: boolean
}

const authorize = () => ({ actor: 'ada', can: permissions })

/** A federation that knows two servers, and requests to a dashboard of it. */
async function opened() {
  const storage = new MemoryStorage()
  const store = sqliteStore({ path: ':memory:' })
  const keyring = await generateKeyring()
  const federation = createFederation({ origin: 'https://own.example', storage, store, keyring })
  await federation.connect()
  const keys = { publicKey: 'a2V5', encryptionPublicKey: 'a2V5' }
  for (const n of [1, 2]) await store.peers.pin({ url: peer(n), ...keys }, 1_000)
  const dashboard = createDashboard({ storage, authorize, peers: federation.peers })
  const get = async <T>(path: string): Promise<T> => {
    const response = await dashboard(new Request(`${address}/api/${path}`))
    assert.equal(response.status, 200, path)
    return ((await response.json()) as { data: T }).data
  }
  const { token } = await get<{ token: string }>('session')
  const post = async (path: string, body: object): Promise<number> => {
    const headers = { origin: address, 'content-type': 'application/json', 'x-holdfast-token': token }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    return (await dashboard(new Request(`${address}/api/${path}`, init))).status
  }
  return { federation, storage, dashboard, get, post }
}

test('[F43] peers: the state of each, pauses and blocks by name, and a line in the audit log', async () => {
  const { federation, storage, dashboard, get, post } = await opened()
  const shown = async (): Promise<readonly Shown[]> => (await get<{ peers: readonly Shown[] }>('peers')).peers
  assert.equal((await get<{ hasPeers: boolean }>('session')).hasPeers, true)
  assert.deepEqual(
    (await shown()).map(({ origin, state, open: waiting, isPaused }) => [origin, state, waiting, isPaused]),
    [1, 2].map((n) => [peer(n), 'healthy', 0, false]),
  )
  const write = (action: string, body: object): Promise<number> => post(`peers/${action}`, body)
  assert.equal(await write('pause', { url: peer(1) }), 200)
  assert.equal(await write('block', { url: peer(2), reason: 'spam' }), 200)
  assert.deepEqual(
    (await shown()).map(({ origin, state, why, isPaused }) => [origin, state, why, isPaused]),
    [
      [peer(2), 'blocked', 'spam', false],
      [peer(1), 'healthy', undefined, true],
    ],
  )
  assert.equal(await write('resume', { url: peer(1) }), 200)
  assert.equal(await write('unblock', { url: peer(2) }), 200)
  assert.deepEqual(
    (await shown()).map(({ state, isPaused }) => [state, isPaused]),
    [
      ['healthy', false],
      ['healthy', false],
    ],
  )
  // A mistake of the caller is none of the server.
  assert.equal(await write('pause', { url: 'no server' }), 400)
  assert.equal(await write('pause', {}), 400)
  await dashboard.close()
  const admin = createAdmin({ storage })
  const { items } = await admin.audit.list()
  await admin.close()
  const lines = items.map(({ what, by }) => `${by} ${what}`)
  assert.deepEqual(
    lines.filter((line) => / (blocked|unblocked|(paused|resumed) deliveries to) /.test(line)).toSorted(),
    [
      `ada blocked ${peer(2)}`,
      `ada paused deliveries to ${peer(1)}`,
      `ada resumed deliveries to ${peer(1)}`,
      `ada unblocked ${peer(2)}`,
    ],
  )
  await federation.stop()
})
