// One server of the demo, in its own process. Its jobs, its tables and the app's own rows are in one SQLite file. It sends events
// to its parent and runs the parent's commands.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import {
  createFederation,
  generateKeyText,
  keyringFromBase64,
  type KeyringText,
  nodeListener,
  sqliteStore,
} from '@holdfast/federation'
import { generateId } from 'holdfast'
import { SqliteStorage } from 'holdfast/sqlite'
import type { Responses, Request, ServerConfig, ServerEvent } from './messages.ts'

const config = JSON.parse(process.argv[2]!) as ServerConfig
const { port, ports, directory } = config
const path = join(directory, 'app.db')
const origin = `http://127.0.0.1:${port}`

// ── the app's own table: the effects of messages ──

const app = new DatabaseSync(path, { timeout: 5_000 })
app.exec('PRAGMA journal_mode = WAL')
app.exec('CREATE TABLE IF NOT EXISTS effects (message_key TEXT PRIMARY KEY, what TEXT NOT NULL)')

/** Writes an effect in the transaction of the message. It runs once per message. */
function effect(messageKey: string, what: string): (tx: { readonly handle: unknown }) => void {
  return ({ handle }) =>
    void (handle as DatabaseSync).prepare('INSERT INTO effects VALUES (?, ?)').run(messageKey, what)
}

// ── the federation ──

const storage = new SqliteStorage({ path })
const store = sqliteStore({ storage })
const federation = createFederation({
  origin,
  storage,
  store,
  keyring: keyringFromBase64(keys()),
  // The demo runs on loopback. A server on the internet needs none of these.
  http: { allowCidrs: ['127.0.0.0/8'], allowHttp: true, allowPorts: ports },
  // Shorter than the defaults, 10 s and an hour: the demo must not take that long.
  policies: { contact: { firstDelayMs: 500, maxDelayMs: 2_000 } },
  handlers: {
    FEDERATE: ({ body: { following }, messageKey }) => {
      const apply = effect(messageKey, `${following.followerId} follows ${following.followingId}`)
      return { accepted: true, apply }
    },
    FEDERATE_POST: ({ body, messageKey }) => ({ apply: effect(messageKey, `post ${body.post.id}`) }),
  },
  acks: {
    'deliver-post': async ({ open, serverUrl }) => {
      const { post } = (await open()) as { post: { id: string; federationPostId: string } }
      send({ event: 'post_acknowledged', origin: serverUrl, id: post.federationPostId })
    },
  },
})

for (const event of [
  'delivered',
  'contact_failed',
  'delivery_failing',
  'delivery_failed',
  'peer_healthy',
  'peer_unhealthy',
  'pin_mismatch',
  'received',
  'refused',
] as const) {
  federation.on(event, (about: object) => send({ event, ...about }))
}

const server = createServer(nodeListener(federation.handler))
server.listen(port, '127.0.0.1', () => {
  send({ event: 'listening', origin })
  flushCompileCache()
})

// ── the parent's commands ──

const commands: { readonly [Q in keyof Responses]: (...args: any[]) => Promise<Responses[Q]> } = {
  follow: async (followerId: string, followingId: string, serverUrl: string) => {
    return (await federation.follow({ followerId, followingId, serverUrl })).deliveryJobId
  },
  burst: async (followingId: string, count: number, serverUrl: string) =>
    Promise.all(Array.from({ length: count }, (_, n) => commands.follow(`fan ${n + 1}`, followingId, serverUrl))),
  post: async (authorId: string, text: string, serverUrl: string) => {
    const post = {
      id: generateId(),
      authorId,
      content: [{ type: 'text', value: text }],
      published: new Date().toISOString(),
      isPrivate: false,
    }
    const payload = { method: 'FEDERATE_POST', post }
    await federation.send({ id: post.id, name: 'deliver-post', payload, path: '/api/auth/social/posts' }, [serverUrl])
    return post.id
  },
  followRow: (followerId: string, followingId: string, serverUrl: string) =>
    store.follows.find(followerId, followingId, serverUrl),
  peerRow: (serverUrl: string) => store.peers.get(serverUrl),
  effects: async () =>
    app
      .prepare('SELECT what FROM effects ORDER BY what')
      .all()
      .map(({ what }) => String(what)),
  register: async (serverUrl: string) => void (await federation.discoverAndRegister(serverUrl)),
  stop: async () => {
    server.close()
    server.closeAllConnections()
    await federation.stop()
    app.close()
  },
}

process.on('message', ({ command, number, args }: Request) => {
  commands[command](...args).then(
    (answer) => send({ event: 'answer', number, answer }),
    (error: Error) => send({ event: 'answer', number, error: error.message }),
  )
})
process.on('disconnect', () => process.exit())
await federation.start()

function send(event: ServerEvent): void {
  if (process.connected) process.send!(event)
}

/** Reads the keys of the file. Writes new ones first if there is no file, or `otherKeys` is set. */
function keys(): KeyringText {
  const file = join(directory, 'keys.json')
  if (!existsSync(file) || config.otherKeys) writeFileSync(file, JSON.stringify(generateKeyText()), { mode: 0o600 })
  return JSON.parse(readFileSync(file, 'utf8')) as KeyringText
}
