// npm run bench:outbox -- [--sends 300] [--place sqlite --place postgres]
//
// Measures the outbox: how soon a worker has a delivery after the commit of the app's transaction, and that a rollback leaves nothing. The
// time runs from the commit to the signature of the message, so the claim, the reads and the encryption count.

import { mkdirSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Federation, postgresStore, sqliteStore, type Store } from '@holdfast/federation'
import type { Storage } from 'holdfast'
import { PostgresStorage } from 'holdfast/postgres'
import { SqliteStorage } from 'holdfast/sqlite'
import { startPostgres } from '../../servers/postgres.ts'
import { newWorkingDirectory, removeDirectory } from '../place.ts'
import { thisMachine } from '../results.ts'
import { percentile, startPeers } from './many-peers.ts'

const { values } = parseArgs({
  options: {
    sends: { type: 'string', default: '300' },
    place: { type: 'string', multiple: true, default: ['sqlite', 'postgres'] },
  },
})
const sends = Number(values.sends)
const most = 100
const [load] = loadavg()
const directory = newWorkingDirectory()

interface Place {
  readonly storage: Storage
  readonly store: Store
  /** Sends an activity in a transaction of the app. */
  send(federation: Federation, id: string, to: string, isRolledBack: boolean): Promise<void>
  close(): Promise<void>
}

const places: Readonly<Record<string, () => Promise<Place>>> = {
  sqlite: async () => {
    const folder = join(directory, 'sqlite')
    mkdirSync(folder)
    const storage = new SqliteStorage({ path: join(folder, 'app.db') })
    return { storage, store: sqliteStore({ storage }), send: sendIn(storage), close: async () => {} }
  },
  postgres: async () => {
    const server = await startPostgres()
    const storage = new PostgresStorage({ url: server.url })
    const store = postgresStore({ storage, migrate: true })
    return { storage, store, send: sendIn(storage), close: () => server.stop() }
  },
}

const lines: string[] = []
let isMet = true
for (const name of values.place) {
  console.error(name)
  const place = await places[name]!()
  let onSign: (() => void) | undefined
  const many = await startPeers({ peers: 1, place, onSign: () => onSign?.() })
  const { federation, peers } = many
  const to = peers[0]!.origin
  const delivered = new Map<string, () => void>()
  federation.on('delivered', ({ id }) => delivered.get(id)?.())
  await federation.start()
  const times: number[] = []
  for (let n = -20; n < sends; n++) {
    const id = `a${n}`
    const signed = new Promise<number>((resolve) => (onSign = () => resolve(performance.now())))
    const done = new Promise<void>((resolve) => delivered.set(`${id} ${to}`, resolve))
    await place.send(federation, id, to, false)
    const committedAt = performance.now()
    const seenAt = await signed
    // A worker of this process may have begun before the answer to the commit was handled.
    if (n >= 0) times.push(Math.max(0, seenAt - committedAt))
    await done
    // An idle worker, so that each delivery must wake it.
    await sleep(10)
  }
  let messages = 0
  onSign = () => void messages++
  for (let n = 0; n < 100; n++) await place.send(federation, `r${n}`, to, true)
  await sleep(2_000)
  const rows = (await place.store.deliveries.list({ limit: 100 })).length
  const { states } = await federation.deliveryQueue.queue.counts()
  const jobs = states.queued + states.scheduled + states.failing + states.processing
  const p99 = percentile(times, 0.99)
  isMet &&= p99 <= most && rows + jobs + messages === 0
  lines.push(
    `| ${name} | ${percentile(times, 0.5).toFixed(1)} | ${p99.toFixed(1)} | ${Math.max(...times).toFixed(1)} | ${rows} rows, ${jobs} jobs, ${messages} messages |`,
  )
  await many[Symbol.asyncDispose]()
  await place.close()
}
removeDirectory(directory)
const { cores, cpu, node } = thisMachine()
console.log(
  [
    `${cores} cores, ${cpu}, Node ${node}, load average ${load?.toFixed(2)}; ${sends} activities, one after the other, then 100 that are rolled back`,
    '',
    `| place | p50 (ms) | p99 (ms, at most ${most}) | slowest (ms) | left of 100 rollbacks |`,
    '|---|--:|--:|--:|---|',
    ...lines,
    '',
    isMet ? 'met' : 'missed',
  ].join('\n'),
)
process.exit(isMet ? 0 : 1)

function sendIn(storage: Pick<Storage, 'transaction'>): Place['send'] {
  return async (federation, id, to, isRolledBack) => {
    const rollback = new Error('rolled back')
    const payload = { method: 'INSERT', id, createdAt: new Date().toISOString(), data: 'x'.repeat(1_000) }
    try {
      await storage.transaction!(async (tx) => {
        await federation.send({ id, payload }, [to], { tx })
        if (isRolledBack) throw rollback
      })
    } catch (error) {
      if (error !== rollback) throw error
    }
  }
}
