// doctor(): each finding is provoked, on the real server where it is about one; and a storage that is well has none.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type EventEmitter, once } from 'node:events'
import { globSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Client, type ClientConfig, Pool } from 'pg'
import { type Admin, type Clock, createAdmin, type Finding, MemoryStorage, Queue, type Storage } from 'holdfast'
import { FileStorage } from 'holdfast/file'
import { PostgresStorage } from 'holdfast/postgres'
import { RedisStorage } from 'holdfast/redis'
import { SqliteStorage } from 'holdfast/sqlite'
import { fakeClock } from 'holdfast/testing'
import { startPostgres } from '../../../../servers/postgres.ts'
import { startRedis } from '../../../../servers/redis.ts'
import type { EngineEvent } from '../../src/engine/events.ts'
import { entryKey } from '../../src/engine/limits/stored-limits.ts'
import { type WorkerInfo, workersKey } from '../../src/engine/work/presence.ts'
import { judgeDisk } from '../../src/storage/disk-findings.ts'
import { diagnoseStatements, diagnose } from '../../src/storage/postgres/verbs/diagnose.ts'
import type { OpenStorage } from '../../src/storage/postgres/verbs/open-storage.ts'
import { makeSql } from '../../src/storage/postgres/sql/statement.ts'
import { quickFolder, withManualClock } from '../drivers.ts'
import { until } from '../queue/driver.ts'
import { faulty } from '../queue/faulty-storage.ts'
import { newSchema, postgresPlace, stopPostgres } from '../postgres-subject.ts'

after(stopPostgres)

function adminOf(t: TestContext, storage: Storage): Admin {
  const admin = createAdmin({ storage })
  t.after(() => admin.close())
  return admin
}

const codesOf = (findings: readonly Finding[]): string[] => findings.map(({ code }) => code)

/** The only finding of its code. */
function only(findings: readonly Finding[], code: string): Finding {
  const found = findings.filter((finding) => finding.code === code)
  assert.equal(found.length, 1, JSON.stringify(findings))
  return found[0]!
}

const worker: WorkerInfo = {
  id: 'w-1',
  label: 'worker-1',
  host: 'host-1',
  pid: 1,
  version: '1.0.0',
  types: [{ face: 'queue', name: 'mail' }],
  concurrency: 5,
  slotsUsed: 0,
  leaseMs: 30_000,
  loopDelayMs: 0,
  startedAt: 0,
  lastSeenAt: 0,
}

const say = (storage: Storage, fields: Partial<WorkerInfo> = {}): Promise<unknown> => {
  const info = { ...worker, ...fields }
  return storage.kv.set([...workersKey, info.id], Buffer.from(JSON.stringify(info)))
}

test('every finding of the sources has its row in docs/doctor.md, and a test', async () => {
  const root = new URL('../../', import.meta.url)
  const files = globSync('src/**/*.ts', { cwd: root }).filter((file) => /doctor\/|findings|diagnose|probe/.test(file))
  const sources = await Promise.all(files.map((file) => readFile(new URL(file, root), 'utf8')))
  const lines = sources.join('\n').matchAll(/^ *(?:return \[\{ )?(?:\{ )?code: (.*)$/gm)
  const codes = [...lines].flatMap(([, rest]) =>
    [...rest!.split(', severity')[0]!.matchAll(/'(\w+)'/g)].map(([, code]) => code!),
  )
  assert.ok(codes.length >= 15, codes.join())
  const page = await readFile(new URL('../../docs/doctor.md', root), 'utf8')
  // The second one runs on every driver.
  const tests = ['doctor.test.ts', 'insight-tests.ts'].map((file) => readFile(new URL(file, import.meta.url), 'utf8'))
  const own = (await Promise.all(tests)).join('\n')
  for (const code of codes) {
    assert.ok(page.includes(`\`${code}\``), `${code} is not in docs/doctor.md`)
    assert.ok(own.includes(`'${code}'`), `${code} has no test`)
  }
})

describe('doctor: every storage', () => {
  test('[F33] a storage whose jobs run has no findings', async (t) => {
    const storage = new MemoryStorage()
    await using mail = new Queue<string>({ storage, name: 'mail' })
    mail.execute(() => {})
    await mail.start()
    await mail.enqueueAndWait('a', 'x')
    assert.deepEqual(await adminOf(t, storage).doctor(), [])
  })

  test('[F33] no_worker: jobs are due, and no worker of the type is alive', async (t) => {
    const storage = new MemoryStorage()
    await using mail = new Queue<string>({ storage, name: 'mail' })
    await mail.start()
    await mail.enqueue('a', 'x')
    const admin = adminOf(t, storage)
    const finding = only(await admin.doctor(), 'no_worker')
    assert.equal(finding.severity, 'error')
    assert.equal(finding.sentence, "1 job of queue 'mail' is due, and no worker of it is known to be alive")
    await say(storage)
    assert.deepEqual(await admin.doctor(), [])
    // A paused type needs none.
    await storage.kv.delete([...workersKey, worker.id])
    await mail.pause()
    assert.deepEqual(await admin.doctor(), [])
  })

  test('[F33] a finding is an event and a line in the log when it appears, once, and says since when it is known', async (t) => {
    const clock = fakeClock()
    const storage = new MemoryStorage({ clock })
    const lines: [string, object, string][] = []
    const log =
      (level: string) =>
      (data: object, message: string): void =>
        void lines.push([level, data, message])
    const admin = createAdmin({ storage, clock, logger: { error: log('error'), warn: log('warn') } as never })
    t.after(() => admin.close())
    const events: EngineEvent[] = []
    const listen = (event: unknown): void => void events.push(event as EngineEvent)
    subscribe('holdfast', listen)
    t.after(() => unsubscribe('holdfast', listen))
    const findings = (): EngineEvent[] => events.filter(({ name }) => name === 'finding')
    await using mail = new Queue<string>({ storage, clock, name: 'mail' })
    await mail.enqueue('a', 'x')
    const [first] = await admin.doctor()
    const begun = clock.now()
    assert.deepEqual([first?.code, first?.since], ['no_worker', begun])
    const { since: _, ...found } = first!
    assert.deepEqual(findings(), [{ name: 'finding', ...found }])
    assert.deepEqual(lines, [['error', { code: 'no_worker', fix: found.fix }, `admin: ${found.sentence}`]])
    // Another count is the same finding; another type is another one.
    await mail.enqueue('b', 'x')
    await clock.advance(60_000)
    const [later] = await admin.as('grace').doctor()
    assert.deepEqual([later!.sentence.startsWith('2 jobs'), later!.since, findings().length], [true, begun, 1])
    // It ends, and comes back: that is news.
    await mail.pause()
    assert.deepEqual(await admin.doctor(), [])
    await mail.resume()
    await clock.advance(1_000)
    const [again] = await admin.doctor()
    assert.deepEqual([again!.since, findings().length, lines.length], [clock.now(), 2, 2])
  })

  test('[F33] worker_id_shared: two processes have workers of one name', async (t) => {
    const storage = new MemoryStorage()
    const admin = adminOf(t, storage)
    await say(storage)
    await say(storage, { id: 'w-2' })
    assert.deepEqual(await admin.doctor(), [])
    await say(storage, { id: 'w-3', pid: 2 })
    const { sentence } = only(await admin.doctor(), 'worker_id_shared')
    assert.equal(sentence, "2 processes call their worker 'worker-1': host-1, process 1; host-1, process 2")
  })

  test('[F33] lease_too_short: the event loop of a worker was blocked for more than a third of its lease', async (t) => {
    const storage = new MemoryStorage()
    const admin = adminOf(t, storage)
    await say(storage, { loopDelayMs: 10_000 })
    assert.deepEqual(await admin.doctor(), [])
    await say(storage, { loopDelayMs: 10_001 })
    const { sentence } = only(await admin.doctor(), 'lease_too_short')
    assert.equal(sentence, "the event loop of worker 'worker-1' was blocked for 10001 ms, and its lease is 30000 ms")
  })

  test('[F33] hints_lost: a hint was sent, and did not arrive', async (t) => {
    const line = faulty(new MemoryStorage())
    const admin = adminOf(t, line.storage)
    assert.deepEqual(await admin.doctor(), [])
    line.lose(() => true)
    const { sentence, fix } = only(await admin.doctor(), 'hints_lost')
    assert.match(sentence, /did not arrive within 2000 ms/)
    assert.match(fix, /proxy/)
    assert.deepEqual(await admin.types(), [], 'the probe leaves nothing')
  })

  test('[F33] a worker says what its lease is', async () => {
    const storage = new MemoryStorage()
    await using mail = new Queue<string>({ storage, name: 'mail', leaseMs: 12_000 })
    mail.execute(() => {})
    await mail.start()
    assert.equal((await mail.workers())[0]?.leaseMs, 12_000)
  })

  test('[F33] clock_skew: the clock of this machine differs from that of the storage', async (t) => {
    // Its clock stands at the beginning of 2026.
    const { storage } = withManualClock((clock) => new MemoryStorage({ clock }))
    const { sentence } = only(await adminOf(t, storage).doctor(), 'clock_skew')
    assert.match(sentence, /^the clock of this machine is \d+ ms (ahead of|behind) that of the storage$/)
  })

  test('[F33] failed_jobs: a thousand jobs of a type have failed', async (t) => {
    const storage = new MemoryStorage()
    const kept = { completedMs: 1e9, failedMs: 1e9, cancelledMs: 1e9 }
    const jobs = Array.from({ length: 1_000 }, (_, index) => ({
      type: 'queue.mail',
      id: `${index}`,
      token: `${index}`,
      retention: kept,
    }))
    await storage.add(jobs)
    const types = [{ type: 'queue.mail', leaseMs: 60_000 }]
    const claim = await storage.claim({ worker: 'w', slots: 1_000, types })
    const fail = claim.jobs.map(({ type, id, worker: by, attempt }) => ({ type, id, worker: by, attempt }))
    await storage.settle(fail.slice(1).map((fence) => ({ ...fence, kind: 'failed' })))
    const admin = adminOf(t, storage)
    assert.deepEqual(await admin.doctor(), [])
    await storage.settle(fail.slice(0, 1).map((fence) => ({ ...fence, kind: 'failed' })))
    assert.equal(only(await admin.doctor(), 'failed_jobs').sentence, "1000 jobs of queue 'mail' have failed")
  })

  test('[F33] pool_too_small: a worker of chains runs more handlers than it can have transactions', async (t) => {
    const storage = new MemoryStorage()
    const admin = adminOf(t, storage)
    const chains = [{ face: 'chain', name: 'order' }]
    await say(storage, { types: chains, concurrency: 8, transactions: 8 })
    assert.deepEqual(await admin.doctor(), [])
    // A queue holds no connection while its handlers run.
    await say(storage, { concurrency: 50, transactions: 8 })
    assert.deepEqual(await admin.doctor(), [])
    await say(storage, { types: chains, concurrency: 50, transactions: 8 })
    const { sentence, fix } = only(await admin.doctor(), 'pool_too_small')
    assert.equal(
      sentence,
      "worker 'worker-1' runs up to 50 handlers at a time, and its pool has connections for the transactions of 8",
    )
    assert.match(fix, /`poolSize` of the storage to at least 52/)
  })

  test('[F33] not_swept: a record expired minutes ago, and is still stored', async (t) => {
    const folder = await folderOf(t)
    const drivers = {
      memory: (clock: Clock) => new MemoryStorage({ clock }),
      sqlite: (clock: Clock) => new SqliteStorage({ path: join(folder, 'jobs.db'), clock }),
      file: (clock: Clock) => new FileStorage({ directory: join(folder, 'files'), clock }),
    }
    for (const [driver, make] of Object.entries(drivers)) {
      const clock = fakeClock()
      const storage = make(clock)
      const admin = createAdmin({ storage, clock })
      await endOne(storage, 1_000)
      const isFound = async (): Promise<boolean> => {
        const findings = await storage.diagnose!()
        return codesOf(findings).includes('not_swept')
      }
      await admin.types()
      await clock.advance(180_000)
      assert.equal(await isFound(), false, driver)
      await clock.advance(1_000)
      assert.equal(await isFound(), true, driver)
      await storage.sweep({ limit: 10 })
      assert.equal(await isFound(), false, driver)
      await admin.close()
      await storage.disconnect()
    }
  })

  test('[F33] schedule_late: a slot has passed, and no process fired it', async (t) => {
    const clock = fakeClock()
    const storage = new MemoryStorage({ clock })
    const mail = new Queue<string>({
      storage,
      clock,
      name: 'mail',
      schedules: { hourly: { payload: 'x', everyMs: 3_600_000 } },
    })
    mail.execute(() => {})
    await mail.start()
    const stopped = mail.stop()
    await clock.advance(1)
    await stopped
    const admin = createAdmin({ storage, clock })
    t.after(() => admin.close())
    await clock.advance(3_600_000)
    assert.deepEqual(codesOf(await admin.doctor()), [])
    await clock.advance(3_600_000)
    const { sentence } = only(await admin.doctor(), 'schedule_late')
    assert.equal(sentence, "schedule 'hourly' of queue 'mail' was to fire at 01:00:00, and no process did")
    await admin.schedules.pause({ face: 'queue', owner: 'mail', name: 'hourly' })
    assert.deepEqual(codesOf(await admin.doctor()), [])
  })
})

/** A job that has completed, and whose record is kept for this time. */
async function endOne(storage: Storage, ms: number): Promise<void> {
  await storage.connect()
  const retention = { completedMs: ms, failedMs: ms, cancelledMs: ms }
  await storage.add([{ type: 'queue.mail', id: 'a', token: 'a', retention }])
  const { jobs } = await storage.claim({ worker: 'w', slots: 1, types: [{ type: 'queue.mail', leaseMs: 60_000 }] })
  const [{ type, id, worker: by, attempt }] = jobs as [(typeof jobs)[number]]
  await storage.settle([{ type, id, worker: by, attempt, kind: 'completed' }])
}

const folderOf = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(quickFolder, 'holdfast-doctor-'))
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 10 }))
  return folder
}

describe('doctor: files', () => {
  test('[F33] sync_off: an acknowledged write may be lost in a power cut', async (t) => {
    const folder = await folderOf(t)
    for (const durability of ['full', 'relaxed'] as const) {
      const storages = [
        new SqliteStorage({ path: join(folder, `${durability}.db`), durability }),
        new FileStorage({ directory: join(folder, durability), durability }),
      ]
      for (const storage of storages) {
        const codes = codesOf(await adminOf(t, storage).doctor())
        assert.equal(codes.includes('sync_off'), durability === 'relaxed', storage.driver)
      }
    }
  })

  test('[F33] not_writable: this process may not write there', async (t) => {
    const folder = await folderOf(t)
    const script = fileURLToPath(new URL('fixtures/disk-findings.ts', import.meta.url))
    const isFoundAt = async (mode: number): Promise<boolean> => {
      await chmod(folder, mode)
      const args = ['--conditions=@holdfast/source', script, folder]
      const { stdout } = await promisify(execFile)(process.execPath, args)
      return (JSON.parse(stdout) as string[]).includes('not_writable')
    }
    assert.equal(await isFoundAt(0o555), true)
    assert.equal(await isFoundAt(0o777), false)
  })

  test('[F33] disk_nearly_full, network_file_system: by what the system says about the disk', () => {
    const local = { type: 0xef53, bsize: 4_096, blocks: 1_000_000, bavail: 500_000 }
    assert.deepEqual(judgeDisk('/data', local), [])
    const [full] = judgeDisk('/data', { ...local, bavail: 49_999 })
    assert.deepEqual([full?.code, full?.sentence], ['disk_nearly_full', "the disk of '/data' has 195 MiB left, 4 %"])
    const small = { ...local, blocks: 30_000, bavail: 25_000 }
    assert.deepEqual(codesOf(judgeDisk('/data', small)), ['disk_nearly_full'])
    const [remote] = judgeDisk('/data', { ...local, type: 0x6969 })
    assert.deepEqual([remote?.code, remote?.severity], ['network_file_system', 'error'])
  })
})

describe('doctor: redis', () => {
  test('[F33] eviction, persistence_off, replica', async (t) => {
    const server = await startRedis({ appendonly: 'everysec' })
    t.after(() => server.stop())
    const storage = new RedisStorage({ url: server.url })
    const admin = adminOf(t, storage)
    assert.deepEqual(await admin.doctor(), [])
    const inspector = await server.connect()
    t.after(() => inspector.close())
    await inspector.send('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
    assert.equal(only(await admin.doctor(), 'eviction').severity, 'warning')
    await inspector.send('CONFIG', 'SET', 'maxmemory', '100mb')
    const evicting = only(await admin.doctor(), 'eviction')
    assert.equal(evicting.severity, 'error')
    assert.equal(evicting.sentence, "the server's maxmemory-policy is allkeys-lru: it deletes jobs when memory is full")
    await inspector.send('CONFIG', 'SET', 'maxmemory-policy', 'noeviction', 'appendonly', 'no')
    assert.deepEqual(codesOf(await admin.doctor()), ['persistence_off'])
    await inspector.send('REPLICAOF', '127.0.0.1', '1')
    assert.ok(codesOf((await storage.diagnose?.()) ?? []).includes('replica'))
    await inspector.send('REPLICAOF', 'NO', 'ONE')
  })
})

describe('doctor: postgres', () => {
  test('[F33] snapshot_held: a replication slot whose replica is gone', async (t) => {
    const server = await startPostgres({ settings: { wal_level: 'replica', max_wal_senders: '2' } })
    const admin = createAdmin({ storage: new PostgresStorage({ url: server.url }) })
    const beside = new Client({ connectionString: server.url })
    t.after(async () => {
      await beside.end()
      await admin.close()
      await server.stop()
    })
    await beside.connect()
    await beside.query("SELECT pg_create_physical_replication_slot('standby')")
    assert.deepEqual(await admin.doctor(), [])

    const [{ lsn, xid }] = (await beside.query('SELECT pg_current_wal_lsn() AS lsn, txid_current()::int8 AS xid')).rows
    await holdSlot(server.url, 'standby', lsn, Number(xid))
    await until(async () => codesOf(await admin.doctor()).includes('snapshot_held'))
    const { sentence, fix } = only(await admin.doctor(), 'snapshot_held')
    assert.match(sentence, /^replication slot standby has no connection, and keeps the dead rows of \d+ transactions/)
    await beside.query(/SELECT .*\)/.exec(fix)![0])
    assert.deepEqual(await admin.doctor(), [])
  })

  test('[F33] snapshot_held, index_missing, index_invalid, dead_rows', async (t) => {
    const { server } = await postgresPlace()
    const schema = newSchema()
    const [pool, beside] = [new Pool({ connectionString: server.url }), new Client({ connectionString: server.url })]
    pool.on('error', () => {})
    await beside.connect()
    t.after(async () => {
      await beside.end()
      await pool.end()
    })
    const storage = new PostgresStorage({ client: pool, schema })
    const admin = adminOf(t, storage)
    assert.deepEqual(await admin.doctor(), [])

    // A transaction that has read something, and stays open. The limit of a minute is not waited for.
    const holder = new Client({ connectionString: server.url })
    await holder.connect()
    t.after(() => holder.end())
    await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await holder.query('SELECT 1 AS held')
    const database = {
      query: async (statement: { text: string }, params: unknown[]) => rowsOf(beside, statement.text, params),
    }
    const open = { database, statements: { diagnose: diagnoseStatements(makeSql(schema)) } } as unknown as OpenStorage
    const held = only(await diagnose(open, 0), 'snapshot_held')
    assert.match(
      held.sentence,
      /^transaction \d+ of \w+ is open for 0 s, and keeps dead rows from being removed: SELECT 1 AS held$/,
    )
    assert.match(held.fix, /pg_terminate_backend\(\d+\)/)
    assert.deepEqual(await admin.doctor(), [])
    await holder.query('ROLLBACK')

    await beside.query(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = '"${schema}".jobs_leases'::regclass`)
    assert.match(only(await admin.doctor(), 'index_invalid').sentence, /^index jobs_leases is not valid/)
    await beside.query(`DROP INDEX "${schema}".jobs_ready`)
    assert.match(only(await admin.doctor(), 'index_missing').sentence, /^index jobs_ready is missing/)

    await beside.query(`CREATE TABLE "${schema}".more (n integer) WITH (autovacuum_enabled = off)`)
    await beside.query(`INSERT INTO "${schema}".more SELECT generate_series(1, 20000)`)
    await beside.query(`DELETE FROM "${schema}".more`)
    // A server reports its statistics up to a second later.
    await until(async () => codesOf(await admin.doctor()).includes('dead_rows'), 'dead_rows')
    const { sentence } = only(await admin.doctor(), 'dead_rows')
    assert.equal(sentence, 'table more has 20000 dead rows and 0 live ones: statements have to pass over them')
  })
})

test('[F33] hints_lost on Postgres: without LISTEN no hint arrives, and listenUrl is named', async (t) => {
  const { server } = await postgresPlace()
  const schema = newSchema()
  const deaf = new PostgresStorage({ url: server.url, schema, listen: false })
  const { fix } = only(await adminOf(t, deaf).doctor(), 'hints_lost')
  assert.match(fix, /`listenUrl` that leads to the server itself/)
})

test("[F33] 'limits_unreadable' on SQLite, Redis and Postgres; the others run the tests of the admin handle", async (t) => {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const { server } = await postgresPlace()
  const storages: Record<string, Storage> = {
    sqlite: new SqliteStorage({ path: join(await folderOf(t), 'jobs.db') }),
    redis: new RedisStorage({ url: redis.url }),
    postgres: new PostgresStorage({ url: server.url, schema: newSchema() }),
  }
  for (const [driver, storage] of Object.entries(storages)) {
    const admin = adminOf(t, storage)
    await admin.limits.set({ face: 'queue', name: 'mail' }, { concurrency: 3 })
    assert.ok(!codesOf(await admin.doctor()).includes('limits_unreadable'), driver)
    await storage.kv.set(entryKey('queue.mail'), Buffer.from('{"override":'))
    const { sentence, severity } = only(await admin.doctor(), 'limits_unreadable')
    assert.equal(severity, 'error', driver)
    assert.equal(
      sentence,
      "stored limits of queue 'mail' cannot be read (the whole entry), and are not in force",
      driver,
    )
  }
})

test('[F33] not_swept on Postgres; a worker says how many transactions its pool has', async (t) => {
  const { server } = await postgresPlace()
  const schema = newSchema()
  const storage = new PostgresStorage({ url: server.url, schema, poolSize: 7 })
  const admin = adminOf(t, storage)
  await endOne(storage, 3_600_000)
  t.after(() => storage.disconnect())
  assert.deepEqual(codesOf(await admin.doctor()), [])
  const beside = new Client({ connectionString: server.url })
  await beside.connect()
  t.after(() => beside.end())
  await beside.query(`UPDATE "${schema}".jobs SET sweep_at = sweep_at - 3800000, expires_at = expires_at - 3800000`)
  assert.match(only(await admin.doctor(), 'not_swept').fix, /holdfast sweep/)
  await using mail = new Queue<string>({ storage, name: 'mail' })
  mail.execute(() => {})
  await mail.start()
  await until(async () => (await admin.workers()).length === 1, 'the worker is listed')
  assert.equal((await admin.workers())[0]?.transactions, 5)
})

/** As the driver reads rows: texts, or null. */
async function rowsOf(client: Client, text: string, params: unknown[]): Promise<(string | null)[][]> {
  const { rows } = await client.query<(string | null)[]>({ text, values: params, rowMode: 'array' })
  return rows
}

/** A replica that says which rows it still needs (hot_standby_feedback), and is gone. */
async function holdSlot(url: string, slot: string, lsn: string, xmin: number): Promise<void> {
  const replica = new Client({ connectionString: url, replication: 'true' } as ClientConfig)
  replica.on('error', () => {})
  await replica.connect()
  const { connection } = replica as unknown as {
    connection: EventEmitter & { sendCopyFromChunk(chunk: Buffer): void }
  }
  const started = once(connection, 'replicationStart')
  // Never answered: replication begins.
  void replica.query(`START_REPLICATION SLOT ${slot} PHYSICAL ${lsn}`).catch(() => {})
  await started
  // Kind, time, xmin and its epoch, catalog xmin and its epoch.
  const feedback = Buffer.alloc(1 + 8 + 4 * 4)
  feedback.write('h')
  feedback.writeUInt32BE(xmin, 9)
  connection.sendCopyFromChunk(feedback)
  await replica.end()
}
