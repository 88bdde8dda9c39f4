// Other servers, on loopback: one real HTTP server with a host name per peer. Written from the v1 wire by hand and not with the
// receiving side of this package, so that a mistake on both sides cannot cancel out.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { generateKeyText, type Keyring, keyringFromBase64, type KeyringText } from '../../src/keyring.ts'
import type { HttpOptions } from '../../src/http/client.ts'
import { decodeBase64 } from '../../src/wire/v1/base64.ts'
import { decryptPayload, encryptPayload } from '../../src/wire/v1/envelope.ts'
import { signText, verify } from '../../src/wire/v1/signature.ts'

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | object
}

/** `silent`: reads the request and never answers. `reset`: destroys the connection. */
type Mode = 'up' | 'silent' | 'reset'

export class TestPeer {
  origin: string
  readonly world: World
  text: KeyringText
  keyring: Keyring
  mode: Mode = 'up'
  /** Keys of the server that its acks are encrypted for. */
  sender: KeyringText
  readonly received: Received[] = []
  /** Plaintexts of the verified messages that the inbox received. */
  readonly delivered: string[] = []
  onDiscover: () => Reply | Promise<Reply> = () => ({ body: this.card() })
  onRegister: () => Reply = () => ({ body: { message: 'ok', echo: this.card() } })
  onInbox: (plain: string) => Reply | Promise<Reply> = (plain) => this.followAck(plain)
  onProxy: (received: Received) => Reply | Promise<Reply> = () => ({ status: 403, body: { code: 'RELAY_DISABLED' } })

  constructor(world: World, name: string, sender: KeyringText) {
    this.world = world
    this.origin = `http://${name}:${world.port}`
    this.sender = sender
    this.text = generateKeyText()
    this.keyring = keyringFromBase64(this.text)
  }

  get host(): string {
    return new URL(this.origin).host
  }

  card(): { url: string; publicKey: string; encryptionPublicKey: string; peers: [] } {
    const { publicKey, encryptionPublicKey } = this.text
    return { url: this.origin, publicKey, encryptionPublicKey, peers: [] }
  }

  /** Replaces its keys. */
  rekey(): void {
    this.text = generateKeyText()
    this.keyring = keyringFromBase64(this.text)
  }

  count(method: string, path: string): number {
    return this.received.filter((one) => one.method === method && one.path === path).length
  }

  async handle(received: Received): Promise<Reply> {
    this.received.push(received)
    const { method, path, body } = received
    if (path === '/discover') return method === 'GET' ? this.onDiscover() : this.onRegister()
    if (path === '/proxy') return this.onProxy(received)
    return this.deliver(body)
  }

  async deliver(body: string): Promise<Reply> {
    const message = JSON.parse(body) as { payload: unknown; signature: unknown }
    const plain = await decryptPayload(message.payload, this.keyring)
    if (!verify(plain, message.signature, this.sender.publicKey)) {
      return { status: 403, body: { code: 'INVALID_SIGNATURE' } }
    }
    this.delivered.push(plain)
    return this.onInbox(plain)
  }

  /** Forwards a PROXY request to its target, as a relay. */
  async forward({ body }: Received): Promise<Reply> {
    const { targetUrl, payload } = JSON.parse(body) as { targetUrl: string; payload: unknown }
    const target = this.world.peerOf(new URL(targetUrl).host)!
    const inner = JSON.parse(await decryptPayload(payload, target.keyring)) as { body: string }
    const { body: ack } = await target.deliver(inner.body)
    return { body: { method: 'PROXY_RESPONSE', payload: ack } }
  }

  /** Makes the ack of a follow. */
  followAck(plain: string, change: object = {}): Promise<Reply> {
    const { following, federationUrl } = JSON.parse(plain) as { following: object; federationUrl: string }
    const acked = { ...following, accepted: true, acknowledged: true, ...change }
    return this.ack({ following: acked, federationUrl, method: 'FEDERATE' })
  }

  async ack(content: unknown, change: object = {}): Promise<Reply> {
    const plain = typeof content === 'string' ? content : JSON.stringify(content)
    const data = encryptPayload(plain, decodeBase64(this.sender.encryptionPublicKey, 32)!)
    const signature = await signText(plain, this.keyring)
    return { body: { method: 'PROXY_RESPONSE', status: 'acknowledged', data, signature, ...change } }
  }
}

export class World {
  readonly #server: Server
  readonly #peers = new Map<string, TestPeer>()
  #names = 0
  port = 0
  /** A port without a listener. */
  closedPort = 0

  constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response))
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.port = (this.#server.address() as AddressInfo).port
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    this.closedPort = (other.address() as AddressInfo).port
    await new Promise((resolve) => other.close(resolve))
    return this
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  peer(sender: KeyringText): TestPeer {
    const peer = new TestPeer(this, `peer${++this.#names}.test`, sender)
    this.#peers.set(peer.host, peer)
    return peer
  }

  /** Adds a host name of a peer. */
  alias(host: string, peer: TestPeer): void {
    this.#peers.set(host, peer)
  }

  peerOf(host: string): TestPeer | undefined {
    return this.#peers.get(host)
  }

  /** Host names that end with .test resolve to loopback; others are not found. */
  http(): HttpOptions {
    return {
      allowHttp: true,
      allowCidrs: ['127.0.0.0/8'],
      allowPorts: [this.port, this.closedPort],
      resolver: async (hostname) => {
        if (hostname.endsWith('.test')) return [{ address: '127.0.0.1', family: 4 }]
        throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' })
      },
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const peer = this.#peers.get(request.headers.host ?? '')
    const { method = '', url = '', headers } = request
    if (!peer || peer.mode === 'reset') return void request.socket.destroy()
    const received = { method, path: url, headers, body: await text(request) }
    if (peer.mode === 'silent') return void peer.received.push(received)
    try {
      const { status = 200, headers: own, body } = await peer.handle(received)
      response.writeHead(status, { 'Content-Type': 'application/json', ...own })
      response.end(typeof body === 'string' ? body : JSON.stringify(body))
    } catch (error) {
      response.writeHead(500).end(String(error))
    }
  }
}
