// Many peers in one process: virtual hosts of one HTTP server, each with its own keys. A share of them is dead, in five ways. Exits with its
// parent. The only argument: PeersConfig.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { text } from 'node:stream/consumers'
import {
  decryptPayload,
  encryptPayload,
  generateKeyText,
  type Keyring,
  keyringFromBase64,
  type KeyringText,
} from '@holdfast/federation'
import { signText, verify } from '../../packages/federation/src/wire/v1/signature.ts'

export interface PeersConfig {
  readonly count: number
  /** Of ten peers, so many are dead. */
  readonly deadOfTen: number
  /** Public keys of the sender. */
  readonly sender: Pick<KeyringText, 'publicKey' | 'encryptionPublicKey'>
}

/** Ways to be dead: accepts and never answers; refuses; a name that does not exist; answers 503; answers a byte per second. */
export const deadWays = ['blackhole', 'refuse', 'unknown', 'unavailable', 'drip'] as const

export interface PeerCard {
  readonly origin: string
  readonly publicKey: string
  readonly encryptionPublicKey: string
  readonly way: (typeof deadWays)[number] | undefined
}

/** What the parent is told. */
export interface PeersReady {
  readonly ports: readonly number[]
  readonly peers: readonly PeerCard[]
}

interface Peer extends PeerCard {
  readonly keyring: Keyring
}

const config = JSON.parse(process.argv[2]!) as PeersConfig
const senderKey = Buffer.from(config.sender.encryptionPublicKey, 'base64')
const peers = new Map<string, Peer>()

const http = createServer((request, response) => {
  answer(request, response).catch(() => response.destroy())
})
// Longer than the sender keeps a connection (30 s), as proxies in front of servers do. After the default of 5 s each activity would open a
// new connection to every peer.
http.keepAliveTimeout = 75_000
const blackhole = createTcpServer(() => {})
const closed = createTcpServer()
const [port, blackholePort, closedPort] = [await listen(http), await listen(blackhole), await listen(closed)]
await new Promise((resolve) => closed.close(resolve))

let dead = 0
for (let n = 0; n < config.count; n++) {
  const way = n % 10 < config.deadOfTen ? deadWays[dead++ % deadWays.length] : undefined
  const at = way === 'blackhole' ? blackholePort : way === 'refuse' ? closedPort : port
  const host = `peer-${n}.${way === 'unknown' ? 'invalid' : 'test'}:${at}`
  const keys = generateKeyText()
  const { publicKey, encryptionPublicKey } = keys
  const card = { origin: `http://${host}`, publicKey, encryptionPublicKey, way }
  peers.set(host, { ...card, keyring: keyringFromBase64(keys) })
}
process.on('disconnect', () => process.exit(0))
const ready: PeersReady = {
  ports: [port, blackholePort, closedPort],
  peers: [...peers.values()].map(({ origin, publicKey, encryptionPublicKey, way }) => ({
    origin,
    publicKey,
    encryptionPublicKey,
    way,
  })),
}
process.send!(ready)

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)))
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const peer = peers.get(request.headers.host ?? '')
  if (!peer) return void response.writeHead(404).end()
  if (peer.way === 'unavailable') return void response.writeHead(503).end()
  if (peer.way === 'drip') {
    response.writeHead(200, { 'Content-Type': 'application/json' })
    const timer = setInterval(() => response.write(' '), 1_000)
    response.once('close', () => clearInterval(timer))
    return
  }
  const { origin, publicKey, encryptionPublicKey, keyring } = peer
  response.setHeader('Content-Type', 'application/json')
  if (request.method === 'GET') {
    return void response.end(JSON.stringify({ url: origin, publicKey, encryptionPublicKey, peers: [] }))
  }
  const message = JSON.parse(await text(request)) as { payload: unknown; signature: unknown }
  const plain = await decryptPayload(message.payload, keyring)
  if (!verify(plain, message.signature, config.sender.publicKey)) return void response.writeHead(403).end()
  const { method, id } = JSON.parse(plain) as { method: string; id: string }
  const ack = JSON.stringify({ method, federationUrl: origin, id })
  const data = encryptPayload(ack, senderKey)
  const signature = await signText(ack, keyring)
  response.end(JSON.stringify({ method: 'PROXY_RESPONSE', status: 'acknowledged', data, signature }))
}
