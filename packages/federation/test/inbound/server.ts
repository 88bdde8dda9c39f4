// A server on loopback with the real handler, client and store, and functions that send to it.

import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { type Clock } from 'holdfast'
import { systemClock } from 'holdfast/storage'
import { createHttpClient, type HttpOptions } from '../../src/http/client.ts'
import { handlerOf } from '../../src/inbound/handler.ts'
import type { InboundHandlers } from '../../src/inbound/handlers.ts'
import { type Inbound, newInbound } from '../../src/inbound/inbound.ts'
import { nodeListener } from '../../src/inbound/node-listener.ts'
import { generateKeyring, type Keyring } from '../../src/keyring.ts'
import { FederationMetrics } from '../../src/metrics/federation-metrics.ts'
import { type Policies, seedPolicies } from '../../src/policies.ts'
import type { FederationContext } from '../../src/context.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { PeerKeys, Store } from '../../src/store/store.ts'
import { encodeBase64 } from '../../src/wire/v1/base64.ts'
import { decryptPayload, encryptPayload } from '../../src/wire/v1/envelope.ts'
import { signText } from '../../src/wire/v1/signature.ts'

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: any
}

export interface TestServer {
  readonly origin: string
  readonly port: number
  readonly keyring: Keyring
  readonly keys: PeerKeys
  readonly store: Store
  readonly context: FederationContext
  readonly inbound: Inbound
  /** Names and first arguments of the events, in order. */
  readonly events: [string, any][]
  readonly lines: unknown[]
  /** Number of requests. */
  readonly requests: { readonly method: string; readonly url: string; readonly headers: Record<string, unknown> }[]
  /** Bytes read from all connections. */
  bytesRead(): number
  readonly openConnections: number
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Reply>
  get(path: string): Promise<Reply>
}

export interface ServerOptions {
  readonly handlers?: InboundHandlers
  readonly policies?: { readonly [K in keyof Policies]?: Partial<Policies[K]> }
  readonly clock?: Clock
  readonly store?: Store
  readonly http?: HttpOptions
  readonly keyring?: Keyring
  /** Replaces the reply to GET /discover. */
  readonly pretends?: (real: object) => object | undefined
}

export async function startServer(t: TestContext, options: ServerOptions = {}): Promise<TestServer> {
  const { clock = systemClock, store = sqliteStore({ path: ':memory:' }), keyring = await generateKeyring() } = options
  await store.connect()
  const events: [string, any][] = []
  const lines: unknown[] = []
  const requests: TestServer['requests'][number][] = []
  const write = (data: object, message: string): void => void lines.push([data, message])
  const server = createServer()
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  const http = createHttpClient(
    { allowCidrs: ['127.0.0.0/8'], allowHttp: true, allowPorts: allPorts, ...options.http },
    clock,
  )
  const context: FederationContext = {
    origin,
    keyring,
    store,
    http,
    allowHttp: true,
    policies: policiesOf(options.policies),
    clock,
    logger: { debug: write, info: write, warn: write, error: write },
    emit: (event, ...args) => void events.push([event, args[0]]),
    metrics: new FederationMetrics(),
    // It sends nothing.
    slots: { narrow: async () => {}, widen: async () => {}, reconcile: async () => {} },
  }
  const inbound = newInbound(context, { handlers: options.handlers ?? {} })
  const listener = nodeListener(handlerOf(inbound))
  const keys = {
    url: origin,
    publicKey: encodeBase64(keyring.current('sig').publicKey),
    encryptionPublicKey: encodeBase64(keyring.current('enc').publicKey),
  }
  server.on('request', (incoming, outgoing) => {
    requests.push({ method: incoming.method!, url: incoming.url!, headers: incoming.headers })
    const lie = incoming.method === 'GET' && options.pretends?.({ ...keys, peers: [] })
    if (lie) outgoing.end(JSON.stringify(lie))
    else listener(incoming, outgoing)
  })
  t.after(async () => {
    http.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await store.disconnect()
  })
  return {
    origin,
    port,
    keyring,
    keys,
    store,
    context,
    inbound,
    events,
    lines,
    requests,
    bytesRead: () => [...sockets].reduce((sum, socket) => sum + socket.bytesRead, 0),
    get openConnections() {
      return [...sockets].filter((socket) => !socket.destroyed).length
    },
    post: (path, body, headers = {}) => ask(port, 'POST', path, body, headers),
    get: (path) => ask(port, 'GET', path, undefined, {}),
  }
}

const allPorts = Array.from({ length: 65_535 - 1_024 }, (_, index) => 1_024 + index)

function policiesOf(given: ServerOptions['policies'] = {}): Policies {
  const merged = Object.entries(seedPolicies).map(([name, value]) => {
    const own = given[name as keyof Policies]
    return [name, Array.isArray(value) || own === undefined ? (own ?? value) : { ...value, ...own }]
  })
  return Object.fromEntries(merged) as Policies
}

/** Sends text as it is, anything else as JSON. */
export function ask(
  port: number,
  method: string,
  path: string,
  body: unknown,
  headers: Record<string, string>,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({
          status: response.statusCode!,
          headers: response.headers,
          body: text === '' ? undefined : JSON.parse(text),
        })
      })
    })
    request.on('error', reject)
    request.end(
      body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
    )
  })
}

export interface Message {
  readonly method: string
  readonly payload: unknown
  readonly signature: string
}

type Sender = Pick<TestServer, 'origin' | 'keyring'>

/** Makes a v1 delivery. @param inner an object, or its text */
export async function sealed(from: Sender, to: TestServer, inner: unknown, method?: string): Promise<Message> {
  const text = typeof inner === 'string' ? inner : JSON.stringify(inner)
  return {
    method: method ?? (inner as { method: string }).method,
    payload: encryptPayload(text, to.keyring.current('enc').publicKey),
    signature: await signText(text, from.keyring),
  }
}

export const headersOf = (from: Sender, to?: TestServer): Record<string, string> => ({
  'Content-Type': 'application/json',
  Origin: from.origin,
  'X-Federation-Origin': from.origin,
  ...(to && { 'X-Federation-Target': `${to.origin}/inbox` }),
})

export async function deliver(from: TestServer, to: TestServer, inner: unknown, path = '/inbox'): Promise<Reply> {
  return to.post(path, await sealed(from, to, inner), headersOf(from, to))
}

/** Makes a request as a relay forwards it. */
export async function targetedAt(
  from: Sender,
  to: TestServer,
  inner: unknown,
  changed: {
    readonly targetUrl?: string
    readonly method?: string
    readonly headers?: object
    readonly body?: string
  } = {},
): Promise<object> {
  const request = {
    targetUrl: `${to.origin}/inbox`,
    method: 'POST',
    headers: headersOf(from, to),
    body: JSON.stringify(await sealed(from, to, inner)),
    ...changed,
  }
  return { method: 'TARGETED', payload: encryptPayload(JSON.stringify(request), to.keyring.current('enc').publicKey) }
}

/** Decrypts an acknowledgement. */
export async function openedAck(ack: any, keyring: Keyring): Promise<{ readonly text: string; readonly value: any }> {
  const text = await decryptPayload(ack.data, keyring)
  return { text, value: JSON.parse(text) }
}

/** Pins the keys of both, as if they had registered. */
export async function introduce(a: TestServer, b: TestServer): Promise<void> {
  await a.store.peers.pin(b.keys, 1)
  await b.store.peers.pin(a.keys, 1)
}

export const iso = (at: number): string => new Date(at).toISOString()

export const followBody = (from: { readonly origin: string }, given: object = {}, at = Date.now()): any => ({
  following: {
    id: 'their-row',
    createdAt: iso(at),
    followerId: 'alice',
    followingId: 'bob',
    accepted: false,
    followerServerUrl: null,
    ...given,
  },
  federationUrl: from.origin,
  method: 'FEDERATE',
})

export const postBody = (from: { readonly origin: string }, given: object = {}, at = Date.now()): any => ({
  method: 'FEDERATE_POST',
  federationUrl: from.origin,
  post: {
    id: 'post-1',
    content: [{ type: 'text', value: 'hello' }],
    authorId: 'alice',
    published: iso(at),
    isPrivate: false,
    ...given,
  },
})
