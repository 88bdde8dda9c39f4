// The receiving server, in its own process. It records every effect. Against repeats it relies on what is guaranteed alone: `apply` of a
// message runs once. First argument: ReceiverConfig; second: a kill point, or nothing.

import { createHash } from 'node:crypto'
import { appendFileSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { flushCompileCache } from 'node:module'
import { DatabaseSync } from 'node:sqlite'
import { createFederation, keyringFromBase64, type KeyringText, nodeListener, sqliteStore } from '@holdfast/federation'
import { SqliteStorage } from 'holdfast/sqlite'
import { Failpoint } from './failpoints.ts'
import { parsePoint } from './points.ts'
import { filesOf } from './received.ts'
import { keysFile, portOf } from './sender.ts'

export interface ReceiverConfig {
  readonly directory: string
  readonly origin: string
  readonly sender: string
  /** A planted defect: `lose` acknowledges some messages without an effect, `twice` writes some effects twice. */
  readonly plant: string | undefined
}

const { directory, origin, sender, plant } = JSON.parse(process.argv[2]!) as ReceiverConfig
const point = process.argv[3] ? parsePoint(process.argv[3]) : undefined
const failpoint = new Failpoint(point, () => process.send!({ crashing: true }))
const files = filesOf(directory)
const app = new DatabaseSync(files.database, { timeout: 5_000 })
app.exec('PRAGMA journal_mode = WAL')
app.exec('CREATE TABLE IF NOT EXISTS effects (activity TEXT NOT NULL)')
app.close()
for (const file of [files.requests, files.acks]) appendFileSync(file, '')

const effect = (activity: string): ((tx: { readonly handle: unknown }) => void) => {
  const isPlanted = /[15]$/.test(activity)
  const times = !isPlanted ? 1 : plant === 'lose' ? 0 : plant === 'twice' ? 2 : 1
  failpoint.pass('decide')
  return ({ handle }) => {
    const insert = (handle as DatabaseSync).prepare('INSERT INTO effects VALUES (?)')
    for (let n = 0; n < times; n++) insert.run(activity)
    failpoint.pass('apply')
  }
}

const storage = new SqliteStorage({ path: files.database })
const federation = createFederation({
  origin,
  storage,
  store: sqliteStore({ storage }),
  keyring: keyringFromBase64(JSON.parse(readFileSync(keysFile(directory, 'receiver'), 'utf8')) as KeyringText),
  http: { allowCidrs: ['127.0.0.0/8'], allowHttp: true, allowPorts: [portOf(sender)] },
  policies: { inbound: { perIpPerMinute: 10 ** 6, perPeerPerMinute: 10 ** 6, discoverPerIpPerHour: 10 ** 6 } },
  handlers: {
    FEDERATE: ({ body }) => ({ accepted: true, apply: effect(body.following.followerId) }),
    FEDERATE_POST: ({ body }) => ({ apply: effect(body.post.id) }),
  },
})

const listener = nodeListener(async (request, from) => {
  const isDelivery = new URL(request.url).pathname.startsWith('/api/')
  if (isDelivery) appendFileSync(files.requests, '.')
  const response = await federation.handler(request, from)
  if (!isDelivery || response.status !== 200) return response
  const text = await response.text()
  appendFileSync(files.acks, `${createHash('sha256').update(text).digest('hex')}\n`)
  failpoint.pass('answer')
  return new Response(text, { status: 200, headers: response.headers })
})
const server = createServer(listener)
server.listen(portOf(origin), '127.0.0.1', () => {
  process.send!('listening')
  // Flushed now for later processes, since a killed process flushes nothing.
  flushCompileCache()
})
process.on('disconnect', () => process.exit())
