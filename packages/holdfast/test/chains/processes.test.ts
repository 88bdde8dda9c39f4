// Several processes on one storage: starts with one key make one chain, and jobs of killed workers end once.

import assert from 'node:assert/strict'
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import type { Readable, Writable } from 'node:stream'
import { after, describe, test, type TestContext } from 'node:test'
import { createClient } from 'holdfast/chains'
import { fakeClock } from 'holdfast/testing'
import { quickFolder } from '../drivers.ts'
import { programOf } from '../../../../scripts/test-programs.ts'
import { sized, sizeOf } from '../full-size.ts'
import { sleep } from '../queue/driver.ts'
import { newSchema, postgresPlace, stopPostgres } from '../postgres-subject.ts'
import { placeOf, stopPlaces } from '../redis-places.ts'
import { type Place, storageAt } from './fixtures/place.ts'
import { poisonAttempts, types } from './fixtures/types.ts'

after(stopPlaces)
after(stopPostgres)

const script = programOf(new URL('fixtures/process.ts', import.meta.url))

let prefixes = 0

async function directoryOf(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(quickFolder, 'holdfast-chains-'))
  t.after(() => rm(directory, { recursive: true, force: true, maxRetries: 50, retryDelay: 10 }))
  return directory
}

const places: Record<Place['driver'], (t: TestContext) => Promise<Place>> = {
  sqlite: async (t) => {
    const path = join(await directoryOf(t), 'jobs.db')
    const db = new DatabaseSync(path)
    db.exec('PRAGMA journal_mode = WAL; CREATE TABLE done (id TEXT NOT NULL)')
    db.close()
    return { driver: 'sqlite', path }
  },
  file: async (t) => ({ driver: 'file', directory: await directoryOf(t) }),
  postgres: async (t) => {
    const { server, pool } = await postgresPlace()
    await pool.query('CREATE TABLE done (id text NOT NULL)')
    t.after(() => pool.query('DROP TABLE done'))
    return { driver: 'postgres', url: server.url, schema: newSchema() }
  },
  redis: async () => {
    const { url } = (await (await placeOf('redis')).way()).options
    return { driver: 'redis', url: url!, prefix: `processes-${++prefixes}` }
  },
}

/** Rows that handlers wrote in their transactions. Undefined: the storage has no transactions. */
async function rowsOf(place: Place): Promise<string[] | undefined> {
  if (place.driver === 'postgres') {
    const { rows } = await (await postgresPlace()).pool.query<{ id: string }>('SELECT id FROM done')
    return rows.map(({ id }) => id)
  }
  if (place.driver !== 'sqlite') return undefined
  const db = new DatabaseSync(place.path, { timeout: 5_000 })
  const rows = db.prepare('SELECT id FROM done').all() as { id: string }[]
  db.close()
  return rows.map(({ id }) => id)
}

interface Child {
  readonly process: ChildProcessByStdio<Writable, Readable, null>
  /** The next line of its output. */
  nextLine(): Promise<unknown>
}

function begin(t: TestContext, scene: string, place: Place): Child {
  const child = spawn(process.execPath, ['--conditions=@holdfast/source', script, scene, JSON.stringify(place)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return { process: child, nextLine: async () => JSON.parse((await lines.next()).value as string) as unknown }
}

async function clientAt(t: TestContext, place: Place) {
  const client = await createClient({ storage: await storageAt(place), jobTypeRegistry: types })
  t.after(() => client.close())
  return client
}

/** Each takes longer to start than it works: `npm test` has fewer. */
const [starters, workersAtOnce, kills] = [sized(3, 2), sized(3, 2), sized(6, 2)]

for (const driver of ['sqlite', 'file', 'redis', 'postgres'] as const) {
  describe(driver, () => {
    test(`[chains trap 3] ${10 * starters} starts with one key from ${starters} processes: one chain`, async (t) => {
      const place = await places[driver](t)
      const client = await clientAt(t, place)
      const children = Array.from({ length: starters }, () => begin(t, 'start', place))
      for (const child of children) assert.equal(await child.nextLine(), 'ready')
      for (const { process: child } of children) child.stdin.write('go\n')
      const started = (await Promise.all(children.map((child) => child.nextLine()))) as {
        id: string
        deduplicated: boolean
      }[][]
      const all = started.flat()
      assert.equal(new Set(all.map(({ id }) => id)).size, 1)
      assert.equal(all.filter(({ deduplicated }) => deduplicated).length, 10 * starters - 1)
      assert.equal((await client.listJobChains()).items.length, 1)
    })

    test('[chains trap 11] workers are killed at random: every chain ends once', async (t) => {
      const place = await places[driver](t)
      const client = await clientAt(t, place)
      const count = sizeOf(60, driver, { file: 10, else: 15 })
      const items = Array.from({ length: count }, () => ({
        typeName: 'both' as const,
        input: null,
        startBlockers: async ({ startJobChain }: StartBlockersOf) =>
          [
            await startJobChain({ typeName: 'one', input: 1 }),
            await startJobChain({ typeName: 'one', input: 2 }),
          ] as const,
      }))
      const chains = await client.startJobChains({ items })
      // More often, the reads of so many chains would be most of the load.
      const wait = { timeoutMs: 60_000, pollIntervalMs: 1_000 }
      const waiting = Promise.all(chains.map((chain) => client.waitForJobChainCompletion(chain, wait)))
      let workers = Array.from({ length: workersAtOnce }, () => begin(t, 'work', place))
      const progress = { isDone: false }
      waiting.then(
        () => (progress.isDone = true),
        () => (progress.isDone = true),
      )
      const { random } = fakeClock({ seed: 11 })
      for (let kill = 0; kill < kills && !progress.isDone; kill++) {
        const [victim, ...others] = workers
        await victim!.nextLine()
        await sleep(random() * 150)
        victim!.process.kill('SIGKILL')
        await once(victim!.process, 'exit')
        workers = [...others, begin(t, 'work', place)]
      }
      const done = await waiting
      assert.ok(done.every(({ output }) => output === 4 + 5))
      const jobs = []
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await client.listJobs({ limit: 1_000, cursor: cursor ?? undefined })
        jobs.push(...page.items)
        cursor = page.nextCursor
      }
      // Two chains of three and their dependent: no continuation is missing, and none exists twice.
      assert.equal(jobs.length, 7 * count)
      assert.equal(new Set(jobs.map(({ chainId, chainIndex }) => `${chainId} ${chainIndex}`)).size, jobs.length)
      assert.ok(jobs.every(({ state }) => state === 'completed'))
      const rows = await rowsOf(place)
      if (rows) assert.deepEqual(rows.toSorted(), jobs.map(({ id }) => id).toSorted())
      for (const { process: child } of workers) child.kill('SIGKILL')
    })

    test('[chains trap 29] a job whose handler ends the process fails after its attempts', async (t) => {
      const place = await places[driver](t)
      const client = await clientAt(t, place)
      const chain = await client.startJobChain({ typeName: 'poison', input: null })
      for (let run = 1; run <= poisonAttempts; run++) {
        const [code] = (await once(begin(t, 'work', place).process, 'exit')) as [number]
        assert.equal(code, 3)
      }
      const last = begin(t, 'work', place)
      await assert.rejects(client.waitForJobChainCompletion(chain, { timeoutMs: 20_000, pollIntervalMs: 100 }), {
        code: 'CHAIN_FAILED',
      })
      const job = await client.getJob({ typeName: 'poison', id: chain.id })
      assert.ok(job!.state === 'failed' && job!.error.code === 'STALLED')
      assert.deepEqual([job!.attempt, job!.failures, last.process.exitCode], [poisonAttempts, poisonAttempts, null])
      last.process.kill('SIGKILL')
    })
  })
}

interface StartBlockersOf {
  startJobChain(item: { typeName: 'one'; input: number }): Promise<{ typeName: 'one'; id: string }>
}
