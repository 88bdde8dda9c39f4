// Opening a storage: options that are refused before anything is sent, and how the schema is created and verified.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { migrationPlan, PostgresStorage } from '../../../src/storage/postgres/index.ts'
import { newSchema, postgresPlace, postgresWay, stopPostgres } from '../../postgres-subject.ts'

after(stopPostgres)

const url = 'postgres://127.0.0.1:1/none'
const refused = (message: RegExp): object => ({ code: 'INVALID_ARGUMENT', name: 'TypeError', message })
const quoted = (schema: string): string => `"${schema.replaceAll('"', '""')}"`

async function works(storage: PostgresStorage): Promise<void> {
  await storage.connect()
  const retention = { completedMs: 0, failedMs: 0, cancelledMs: 0 }
  const [verdict] = await storage.add([{ type: 'mail', id: 'a', token: 't', retention }])
  assert.equal(verdict!.verdict, 'added')
  await storage.disconnect()
}

test('[Q5.15] neither or both of url and client are refused, and the message says which', async () => {
  const { client } = await postgresWay()
  assert.throws(() => new PostgresStorage({}), refused(/^PostgresStorage: neither url nor client is given\./))
  const both = { url, client }
  assert.throws(() => new PostgresStorage(both), refused(/^PostgresStorage: both url and client are given\./))
  // What an app writes whose environment lacks the variable.
  const missing = { url: process.env.HOLDFAST_TEST_NOT_SET }
  assert.throws(
    () => new PostgresStorage(missing),
    refused(/^PostgresStorage: url is undefined\. .* or pass client\.$/),
  )
  const unset = { url: undefined, client: undefined }
  assert.throws(() => new PostgresStorage(unset), refused(/^PostgresStorage: url is undefined\./))
})

test('options of other libraries get the word of this one', () => {
  const given = { connectionString: url } as object
  assert.throws(
    () => new PostgresStorage(given),
    refused(/connectionString.*did you mean url\?|did you mean url\?.*connectionString/),
  )
})

test('every option may be undefined, which means its default', async () => {
  const { client } = await postgresWay()
  const unset = { url: undefined, listenUrl: undefined, listen: undefined, prepare: undefined, poolSize: undefined }
  const others = { migrate: undefined, callTimeoutMs: undefined, clock: undefined }
  const storage = new PostgresStorage({ client, schema: newSchema(), ...unset, ...others })
  assert.equal(storage.settings.callTimeoutMs, 5_000)
  await works(storage)
  assert.doesNotThrow(() => new PostgresStorage({ url, client: undefined, schema: undefined }))
})

test('[Q5.15] invalid names of schemas and urls are refused', () => {
  for (const schema of ['', 'x'.repeat(64), 'ü'.repeat(32), 'a\0b']) {
    assert.throws(() => new PostgresStorage({ url, schema }), { code: 'INVALID_ARGUMENT' })
  }
  assert.throws(() => new PostgresStorage({ url: 'redis://127.0.0.1' }), { code: 'INVALID_ARGUMENT' })
})

test('[Q5.15] [trap 48] a schema may have any name of at most 63 bytes: with quotes, spaces, placeholders', async () => {
  for (const schema of [`it's "quoted"; DROP TABLE x; --`, 'x'.repeat(63), 'Größe $1 $.jobs', 'select']) {
    await works(new PostgresStorage({ ...(await postgresWay()), schema }))
  }
})

test('ten storages that open a new schema at once create it once', async () => {
  const schema = newSchema()
  const way = await postgresWay()
  const storages = Array.from({ length: 10 }, () => new PostgresStorage({ ...way, schema }))
  await Promise.all(storages.map((storage) => storage.connect()))
  await Promise.all(storages.map((storage) => storage.disconnect()))
})

test('a missing schema is refused with `migrate: false`, and can be created from the plan', async () => {
  const schema = newSchema()
  const options = { ...(await postgresWay()), schema, migrate: false }
  await assert.rejects(new PostgresStorage(options).connect(), { code: 'STORAGE_ERROR', maybeApplied: false })
  const { pool } = await postgresPlace()
  await pool.query(migrationPlan(schema).join(';\n'))
  await works(new PostgresStorage(options))
})

test('a schema of a newer version, or of other steps, is refused', async () => {
  const { pool } = await postgresPlace()
  const schema = newSchema()
  const options = { ...(await postgresWay()), schema }
  await works(new PostgresStorage(options))
  await pool.query(`INSERT INTO ${quoted(schema)}.migrations VALUES (6, 'of a newer version')`)
  await assert.rejects(
    new PostgresStorage(options).connect(),
    /has 6 steps, but this version of holdfast knows 5\. Use a newer version/,
  )
  await pool.query(`DELETE FROM ${quoted(schema)}.migrations WHERE number = 6`)
  await pool.query(`UPDATE ${quoted(schema)}.migrations SET checksum = 'another' WHERE number = 1`)
  await assert.rejects(new PostgresStorage(options).connect(), /step 1 differs/)
})

test('the steps of the schema are those of earlier versions: a change must be a step of its own', () => {
  const checksums = migrationPlan('any').flatMap((text) => /VALUES \(\d+, '([0-9a-f]{64})'\)/.exec(text)?.[1] ?? [])
  assert.deepEqual(checksums, [
    'c243bee769a44a8e178edf1b9785355d92c907372dc92a78b0ae1376e1ce8cf3',
    '6c9b92710640519eab9004a6cea0f09776f0ad2a613312c7bab558226475a1c4',
    'cd7e3680c5b3f8c6ea53b19f20d21e0711ddb138a6e3352f0b364bc89c900372',
    '9788606f86f9414910e2402d5c48264aaa3b22dd96d788e1b75743a4a36b6ad6',
    '718395c5849169ed17818894103a1140697c926035ed59935b6f49e1eab98bac',
  ])
})

test('a schema of the first step is brought up to date at connect, and its jobs stay', async () => {
  const schema = newSchema()
  const { pool } = await postgresPlace()
  const plan = migrationPlan(schema)
  const firstStep = plan.findIndex((text) => text.includes('migrations VALUES (1,')) + 1
  await pool.query(plan.slice(0, firstStep).join(';\n'))
  const now = Date.now()
  await pool.query(`INSERT INTO ${quoted(schema)}.types (name) VALUES ('mail')`)
  await pool.query(
    `INSERT INTO ${quoted(schema)}.jobs (seq, ord, tid, state, kind, priority, attempt, failures, keep_ms, created_at, run_at,
       finished_at, id, token) SELECT n, n, tid, 6, 0, 0, 1, 1, 1, ${now}, ${now}, ${now}, 'failed ' || n, 't'
     FROM ${quoted(schema)}.types, generate_series(1, 3) AS n`,
  )
  const storage = new PostgresStorage({ ...(await postgresWay()), schema })
  await storage.connect()
  const { items } = await storage.list({ of: 'jobs', by: 'place', order: 'asc', states: ['failed'], limit: 10 })
  assert.deepEqual(
    items.map(({ id, state }) => [id, state]),
    [1, 2, 3].map((n) => [`failed ${n}`, 'failed']),
  )
  await storage.disconnect()
})

test('[F25] a schema of the second step is brought up to date with its keys, and takes the later modes', async () => {
  const schema = newSchema()
  const { pool } = await postgresPlace()
  const plan = migrationPlan(schema)
  const secondStep = plan.findIndex((text) => text.includes('migrations VALUES (2,')) + 1
  await pool.query(plan.slice(0, secondStep).join(';\n'))
  await pool.query(`INSERT INTO ${quoted(schema)}.types (name) VALUES ('mail')`)
  await pool.query(
    `INSERT INTO ${quoted(schema)}.keys (tid, key, id, token, mode, shared, until)
     SELECT tid, 'window', 'gone', 't', 'throttle', false, ${Date.now() + 600_000} FROM ${quoted(schema)}.types`,
  )
  const storage = new PostgresStorage({ ...(await postgresWay()), schema })
  await storage.connect()
  const retention = { completedMs: 1, failedMs: 1, cancelledMs: 1 }
  const debounce = { key: 'k', mode: 'debounce', windowMs: 600_000 } as const
  const ascending = { key: 'version', mode: 'ascending', version: 7 } as const
  const window = { key: 'window', mode: 'throttle', windowMs: 600_000 } as const
  const verdicts = await storage.add(
    [window, debounce, debounce, ascending, ascending].map((deduplication, index) => {
      return { type: 'mail', id: String(index), token: String(index), retention, deduplication }
    }),
  )
  assert.deepEqual(
    verdicts.map(({ verdict }) => verdict),
    ['duplicate', 'added', 'replaced', 'added', 'stale'],
  )
  await storage.disconnect()
})

test('[F20] a schema of the third step is brought up to date with its groups, which enter the ring', async () => {
  const schema = newSchema()
  const { pool } = await postgresPlace()
  const plan = migrationPlan(schema)
  const thirdStep = plan.findIndex((text) => text.includes('migrations VALUES (3,')) + 1
  await pool.query(plan.slice(0, thirdStep).join(';\n'))
  const now = Date.now()
  await pool.query(`INSERT INTO ${quoted(schema)}.types (name) VALUES ('mail')`)
  const rows = [
    // seq, group, state, ready, runAt
    [1, 'claimable', 2, 1, now],
    [2, 'claimable', 2, 0, now],
    [3, 'running', 3, null, now],
    [4, 'running', 2, 0, now],
    [5, 'paused', 2, 0, now],
    [6, 'blocked', 1, null, now],
    [7, 'later', 0, 1, now + 600_000],
    [8, 'ended', 5, null, now],
    [9, null, 2, 1, now],
  ] as const
  for (const [seq, group, state, ready, runAt] of rows) {
    await pool.query(
      `INSERT INTO ${quoted(schema)}.jobs (seq, ord, tid, state, kind, priority, ready, attempt, failures, keep_ms, created_at,
         run_at, id, token, grp, worker, started_at, lease_until)
       SELECT $1, $1, tid, $2, $3, 0, $4, $5, 0, 1, $6, $7, $8, 't', $9, $10, $11, $12 FROM ${quoted(schema)}.types`,
      [
        seq,
        state,
        group === null ? 0 : 2,
        ready,
        state === 3 ? 1 : 0,
        now,
        runAt,
        `job ${seq}`,
        group,
        ...(state === 3 ? ['w', now, now + 600_000] : [null, null, null]),
      ],
    )
  }
  await pool.query(
    `INSERT INTO ${quoted(schema)}.groups (tid, key, running, placed, paused_since)
     SELECT tid, g.* FROM ${quoted(schema)}.types, (VALUES ('claimable', NULL::bigint, 1::bigint, NULL::double precision),
       ('running', 3, NULL, NULL), ('paused', NULL, NULL, ${now}), ('later', NULL, 7, NULL)) AS g`,
  )
  const storage = new PostgresStorage({ ...(await postgresWay()), schema })
  await storage.connect()
  const types = [{ type: 'mail', leaseMs: 600_000 }]
  const claim = async (worker: string) => (await storage.claim({ worker, slots: 10, types })).jobs.map(({ id }) => id)
  assert.deepEqual((await claim('one')).toSorted(), ['job 1', 'job 9'])
  await storage.settle([{ type: 'mail', id: 'job 3', worker: 'w', attempt: 1, kind: 'completed' }])
  await storage.pause({ type: 'mail', group: 'paused', paused: false })
  assert.deepEqual((await claim('two')).toSorted(), ['job 4', 'job 5'])
  const groups = ['claimable', 'running', 'blocked', 'later', 'ended']
  const counts = await storage.count({ types: ['mail'], limits: { type: 'mail', limits: {}, groups } })
  assert.deepEqual(
    counts.types[0]!.groups!.map(({ group, running, waiting }) => [group, running, waiting]),
    [
      ['claimable', 1, 1],
      ['running', 1, 0],
      ['blocked', 0, 1],
      ['later', 0, 1],
      ['ended', 0, 0],
    ],
  )
  await storage.disconnect()
})
