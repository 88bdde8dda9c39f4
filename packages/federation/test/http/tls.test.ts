// TLS always verifies. A sender knows the authority of these tests only if the test says so.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Resolver } from '../../src/http/client.ts'
import { issue, type Issued } from './certificate.ts'
import { clientOf, get, httpServer, type Listening, listening } from './listen.ts'
import { send } from '../security/children.ts'

interface SecureServer extends Listening {
  /** Requests that the server read. */
  requests: number
}

async function secureServer(t: TestContext, { cert, key }: Issued): Promise<SecureServer> {
  const server = createServer({ cert, key }, (_, response) => {
    state.requests++
    response.end('ok')
  })
  server.on('tlsClientError', () => undefined)
  const state: SecureServer = Object.assign(await listening(t, server), { requests: 0 })
  return state
}

const authority = issue('tests of federation', { authority: true })
const everywhere: Resolver = async () => [{ address: '127.0.0.1', family: 4 }]
const yesterday = new Date(Date.now() - 86_400_000)

/** Writes the authority's certificate to a file, for senders that trust it. */
async function trusting(t: TestContext): Promise<NodeJS.ProcessEnv> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-federation-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const file = join(directory, 'authority.pem')
  await writeFile(file, authority.cert)
  return { NODE_EXTRA_CA_CERTS: file }
}

test('a server with a trusted certificate for its name is contacted; others are not', async (t) => {
  const env = await trusting(t)
  const right = await secureServer(t, issue('peer', { hosts: ['peer.test'], issuer: authority }))
  const expired = await secureServer(t, issue('peer', { hosts: ['peer.test'], issuer: authority, until: yesterday }))
  const hosts = [
    `peer.test:${right.port}`,
    `other.test:${right.port}`,
    `127.0.0.1:${right.port}`,
    `peer.test:${expired.port}`,
  ]
  const sent = await send({ urls: hosts.map((host) => `https://${host}/`) }, env)
  const outcomes = sent.map(({ status, reason }) => status ?? reason)
  assert.deepEqual(outcomes, [200, 'TLS_ERROR', 'TLS_ERROR', 'TLS_ERROR'])
  assert.deepEqual([right.requests, expired.requests], [1, 0])
})

test('a self-signed certificate, or an untrusted authority: TLS_ERROR, and no request arrives', async (t) => {
  const self = await secureServer(t, issue('peer', { hosts: ['peer.test'] }))
  const unknown = await secureServer(t, issue('peer', { hosts: ['peer.test'], issuer: authority }))
  const client = clientOf(t, [self, unknown], { resolver: everywhere })
  for (const { port } of [self, unknown]) {
    const asked = client.request(`https://peer.test:${port}/`, { ...get, method: 'POST', body: 'secret' })
    await assert.rejects(asked, { code: 'TRANSPORT', reason: 'TLS_ERROR' })
  }
  assert.deepEqual([self.requests, unknown.requests], [0, 0])
})

test('an https request to a server without TLS: TLS_ERROR', async (t) => {
  const plain = await httpServer(t, (_, response) => response.end())
  const client = clientOf(t, [plain])
  await assert.rejects(client.request(`https://127.0.0.1:${plain.port}/`, get), {
    code: 'TRANSPORT',
    reason: 'TLS_ERROR',
  })
})

test('an environment that switches verification off, or names a proxy, changes nothing', async (t) => {
  const self = await secureServer(t, issue('peer', { hosts: ['peer.test'] }))
  const plain = await httpServer(t, (_, response) => response.end())
  const proxy = await httpServer(t, (_, response) => response.end())
  const proxies = { HTTP_PROXY: proxy.url, http_proxy: proxy.url, HTTPS_PROXY: proxy.url, https_proxy: proxy.url }
  const env = {
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
    NODE_NO_WARNINGS: '1',
    NODE_USE_ENV_PROXY: '1',
    NO_PROXY: '',
    no_proxy: '',
  }
  const urls = [`https://peer.test:${self.port}/`, `http://peer.test:${plain.port}/`]
  const sent = await send({ urls }, { ...env, ...proxies })
  assert.deepEqual(
    sent.map(({ status, reason }) => status ?? reason),
    ['TLS_ERROR', 200],
  )
  assert.deepEqual([self.requests, proxy.connections], [0, 0])
})
