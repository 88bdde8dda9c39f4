// The receiving server, in its own process. It records every effect. Against repeats it relies on what is guaranteed alone: `apply` of a
// message runs once.

import { createServer } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createFederation, generateKeyring, nodeListener, sqliteStore } from '@holdfast/federation'
import { SqliteStorage } from 'holdfast/sqlite'
import { portOf } from './sender.ts'

export interface ReceiverConfig {
  readonly directory: string
  readonly origin: string
  readonly sender: string
  /** A planted defect: `lose` acknowledges some messages without an effect, `twice` writes some effects twice. */
  readonly plant: string | undefined
}

/** The answer to an IPC request. */
export interface Received {
  /** One entry per effect. */
  readonly effects: readonly string[]
  /** Number of deliveries that arrived, repeats included. */
  readonly requests: number
}

const { directory, origin, sender, plant } = JSON.parse(process.argv[2]!) as ReceiverConfig
const path = join(directory, 'receiver.db')
const app = new DatabaseSync(path, { timeout: 5_000 })
app.exec('PRAGMA journal_mode = WAL')
app.exec('CREATE TABLE effects (activity TEXT NOT NULL)')

const storage = new SqliteStorage({ path })
const federation = createFederation({
  origin,
  storage,
  store: sqliteStore({ storage }),
  keyring: await generateKeyring(),
  http: { allowCidrs: ['127.0.0.0/8'], allowHttp: true, allowPorts: [portOf(sender)] },
  policies: { inbound: { perIpPerMinute: 10 ** 6, perPeerPerMinute: 10 ** 6, discoverPerIpPerHour: 10 ** 6 } },
  handlers: {
    FEDERATE: ({ body }) => ({ accepted: true, apply: effect(body.following.followerId) }),
    FEDERATE_POST: ({ body }) => ({ apply: effect(body.post.id) }),
  },
})

function effect(activity: string): (tx: { readonly handle: unknown }) => void {
  const isPlanted = /[15]$/.test(activity)
  const times = !isPlanted ? 1 : plant === 'lose' ? 0 : plant === 'twice' ? 2 : 1
  return ({ handle }) => {
    const insert = (handle as DatabaseSync).prepare('INSERT INTO effects VALUES (?)')
    for (let n = 0; n < times; n++) insert.run(activity)
  }
}

let requests = 0
const listener = nodeListener(federation.handler)
const server = createServer((request, response) => {
  if (request.url?.startsWith('/api/')) requests++
  listener(request, response)
})
server.listen(portOf(origin), '127.0.0.1', () => process.send!('listening'))

process.on('message', () => {
  const effects = app
    .prepare('SELECT activity FROM effects')
    .all()
    .map(({ activity }) => String(activity))
  const received: Received = { effects, requests }
  process.send!(received)
})
process.on('disconnect', () => process.exit())
