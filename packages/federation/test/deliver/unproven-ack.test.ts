// A follow that the peer acknowledges without an envelope, as the original of the v1 wire does.

import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { generateKeyText } from '../../src/keyring.ts'
import { issue } from '../http/certificate.ts'
import { listening } from '../http/listen.ts'
import { bench, insertFollow } from '../seed/bench.ts'
import { sqlitePlace } from '../seed/sqlite-place.ts'
import { World } from '../seed/world.ts'
import type { UnprovenOrder, UnprovenResult } from './unproven-ack-child.ts'

const child = fileURLToPath(new URL('unproven-ack-child.ts', import.meta.url))
const reply = { status: 'acknowledged', message: 'Follow request received' }

async function followOverTls(t: TestContext, isAllowed: boolean): Promise<UnprovenResult> {
  const authority = issue('tests of federation', { authority: true })
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-federation-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const file = join(directory, 'authority.pem')
  await writeFile(file, authority.cert)
  const { publicKey, encryptionPublicKey } = generateKeyText()
  const server = createServer(issue('peer', { hosts: ['peer.test'], issuer: authority }), (request, response) => {
    const card = { url: `https://peer.test:${port}`, publicKey, encryptionPublicKey, peers: [] }
    response.end(JSON.stringify(request.url === '/discover' ? card : reply))
  })
  const { port } = await listening(t, server)
  const order: UnprovenOrder = { port, isAllowed }
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: file }
  const sender = fork(child, [JSON.stringify(order)], { execArgv: ['--conditions=@holdfast/source'], env })
  const [[result]] = await Promise.all([once(sender, 'message'), once(sender, 'exit')])
  return result as UnprovenResult
}

test('over its own TLS origin a pinned peer may acknowledge a follow without proof, and the event says so', async (t) => {
  const result = await followOverTls(t, true)
  assert.deepEqual(result, { outcome: 'delivered', isProven: false, accepted: false, acknowledged: true })
})

test('switched off, such a reply is no acknowledgement', async (t) => {
  const result = await followOverTls(t, false)
  assert.deepEqual(result, { outcome: 'ACK_MISSING', accepted: false, acknowledged: false })
})

const world = await new World().start()
after(() => world.stop())

test('without TLS, of another method, or with another handler, such a reply is no acknowledgement', async (t) => {
  const it = await bench(t, sqlitePlace, world, { acks: { own: () => {} } })
  const peer = await it.peer()
  await insertFollow(it, peer)
  peer.onInbox = () => ({ body: reply })
  const post = JSON.stringify({ method: 'FEDERATE_POST', federationUrl: 'http://self.test', post: { id: 'p1' } })
  for (const given of [{}, { name: 'deliver-post', payload: post }, { name: 'own' }]) {
    await assert.rejects(it.federation.processFederationDelivery(await it.delivery(peer, given)), {
      name: 'UnrecoverableError',
    })
  }
  assert.equal((await it.store.follows.find('alice', 'bob', peer.origin))?.acknowledged, false)
})
