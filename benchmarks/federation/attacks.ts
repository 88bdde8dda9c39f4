// npm run bench:attacks
//
// Measures what hostile servers cost: replies of 64 MB in seven ways (bytes read and growth of the sender, in its own process), a reply of a
// byte at a time (when it ends), and 10,500 servers that register and are never used (rows and their size).

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { generateKeyText, sqliteStore } from '@holdfast/federation'
import { systemClock } from 'holdfast/storage'
import { createHttpClient } from '../../packages/federation/src/http/client.ts'
import { hardenedPolicies } from '../../packages/federation/src/policies.ts'
import type { Order, Sent } from '../../packages/federation/test/security/sender-child.ts'
import { newWorkingDirectory, removeDirectory } from '../place.ts'

const cap = 256 * 1024
const chunk = 64 * 1024
const mebibyte = 1024 * 1024
const servers = 10_500
const lines: string[] = ['| attack | measured | at most | result |', '|---|--:|--:|---|']
let isMet = true

const tests = new URL('../../packages/federation/test/security/', import.meta.url)
const attacker = fork(new URL('attacker-child.ts', tests))
const [{ port }] = (await once(attacker, 'message')) as [{ port: number }]
const url = `http://127.0.0.1:${port}`
console.error('replies that do not end')
await measureReplies()
console.error('a byte at a time')
await measureDrip()
attacker.disconnect()
await once(attacker, 'exit')
console.error('servers that are never used')
await measureRegistry()
console.log(lines.join('\n'))
process.exit(isMet ? 0 : 1)

function report(what: string, value: number, most: number, unit: string, least = 0): void {
  const isWithin = value <= most && value >= least
  isMet &&= isWithin
  const bounds = least > 0 ? `${figure(least)} … ${figure(most)}` : figure(most)
  lines.push(`| ${what} | ${figure(value)} ${unit} | ${bounds} ${unit} | ${isWithin ? 'met' : 'missed'} |`)
}

function figure(value: number): string {
  return Math.round(value).toLocaleString('en')
}

async function measureReplies(): Promise<void> {
  const paths = { '/huge': cap + chunk + 1024, '/declared': 2 * chunk + 1024 }
  const others = ['/gzip', '/headers', '/interim', '/trailers', '/extensions']
  const most = new Map<string, number>([...Object.entries(paths), ...others.map((path) => [path, mebibyte] as const)])
  const order: Order = { urls: [...most.keys()].map((path) => url + path), warmUp: `${url}/plain` }
  const sender = fork(new URL('sender-child.ts', tests), [JSON.stringify(order)])
  const [sent] = (await once(sender, 'message')) as [Sent[]]
  for (const [index, [path, bytes]] of [...most].entries()) {
    report(`reply of 64 MB (${path.slice(1)}): bytes read`, sent[index]!.bytesRead, bytes, 'bytes')
  }
  const grown = sent.reduce((sum, { grownBy }) => sum + grownBy, 0)
  report('all of these: growth of the process', grown / 1024, 10 * 1024, 'KiB')
}

async function measureDrip(): Promise<void> {
  const options = { allowCidrs: ['127.0.0.0/8'], allowHttp: true, allowPorts: [port] }
  const client = createHttpClient(options, systemClock)
  const { timeoutMs } = hardenedPolicies.delivery
  const startedAt = performance.now()
  const outcome = await client.request(`${url}/drip`, { method: 'GET', timeoutMs }).then(
    () => 'answered',
    ({ code }: { code: string }) => code,
  )
  const took = performance.now() - startedAt
  client.close()
  if (outcome !== 'TRANSPORT') throw new Error(`benchmark: the reply that never ends was ${outcome}`)
  report('a byte every 100 ms: end of the request', took, timeoutMs + 500, 'ms', timeoutMs - 500)
}

/** Each from its own domain and address range: an attacker that the bounds per domain and range do not stop. */
async function measureRegistry(): Promise<void> {
  const directory = newWorkingDirectory()
  mkdirSync(join(directory, 'registry'))
  const path = join(directory, 'registry', 'tables.db')
  const store = sqliteStore({ path })
  await store.connect()
  const sizeOf = (): number => (checkpoint(path), statSync(path).size)
  const empty = sizeOf()
  const { unusedPerSite: perSite, unusedPerRange: perRange, unusedMax: max, unusedMs } = hardenedPolicies.registry
  const now = Date.now()
  const { publicKey, encryptionPublicKey } = generateKeyText()
  const pinned: Promise<unknown>[] = []
  for (let n = 0; n < servers; n++) {
    const row = { url: `https://federation.server-${n}.example`, publicKey, encryptionPublicKey }
    const addressRange = `10.${n >> 8}.${n & 255}.0/24`
    pinned.push(store.peers.pin(row, now + n, { addressRange }))
    // Below its bound it removes nothing, and takes longer than the insert.
    if (n < max - 100) continue
    await Promise.all(pinned.splice(0))
    await store.peers.evictUnused(
      { url: row.url, site: `server-${n}.example`, addressRange },
      { perSite, perRange, max },
    )
  }
  let rows = 0
  for (let after = ''; ;) {
    const page = await store.peers.list({ limit: 1_000, after })
    rows += page.length
    if (page.length < 1_000) break
    after = page.at(-1)!.url
  }
  report(`${figure(servers)} servers that are never used: rows`, rows, max, 'rows')
  report('size of a row, with its indexes', (sizeOf() - empty) / rows, 1_024, 'bytes')
  const end = now + servers + unusedMs + 1
  let expired = 0
  for (let count = 1; count > 0; expired += count) count = await store.peers.expireUnused(end - unusedMs, 1_000)
  report('rows after 30 days without traffic', rows - expired, 0, 'rows')
  await store.disconnect()
  removeDirectory(directory)
}

function checkpoint(path: string): void {
  const database = new DatabaseSync(path)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
}
