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
  await pool.query(`INSERT INTO ${quoted(schema)}.migrations VALUES (2, 'of a newer version')`)
  await assert.rejects(
    new PostgresStorage(options).connect(),
    /has 2 steps, but this version of holdfast knows 1\. Use a newer version/,
  )
  await pool.query(`DELETE FROM ${quoted(schema)}.migrations WHERE number = 2`)
  await pool.query(`UPDATE ${quoted(schema)}.migrations SET checksum = 'another'`)
  await assert.rejects(new PostgresStorage(options).connect(), /step 1 differs/)
})

test('the steps of the schema are those of earlier versions: a change must be a step of its own', () => {
  const checksums = migrationPlan('any').flatMap((text) => /VALUES \(\d+, '([0-9a-f]{64})'\)/.exec(text)?.[1] ?? [])
  assert.deepEqual(checksums, ['18e19e6382e40e5c4769a7671c9028b472ebef34599775d7ec485dccbd48fc63'])
})
