// Opening: what is refused before anything is asked of a server, and how the schema comes to be and is looked after.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { migrationPlan, PostgresStorage } from '../../../src/storage/postgres/index.ts'
import { newSchema, postgresPlace, postgresWay, stopPostgres } from '../../postgres-subject.ts'

after(stopPostgres)

const url = 'postgres://127.0.0.1:1/none'
const quoted = (schema: string): string => `"${schema.replaceAll('"', '""')}"`

async function works(storage: PostgresStorage): Promise<void> {
  await storage.connect()
  const retention = { completedMs: 0, failedMs: 0, cancelledMs: 0 }
  const [verdict] = await storage.add([{ type: 'mail', id: 'a', token: 't', retention }])
  assert.equal(verdict!.verdict, 'added')
  await storage.disconnect()
}

test('[Q5.15] neither or both of url and client, and names of schemas that do not fit, are refused', async () => {
  const { client } = await postgresWay()
  for (const options of [{}, { url, client: client! }]) {
    assert.throws(() => new PostgresStorage(options), { code: 'INVALID_ARGUMENT', name: 'TypeError' })
  }
  for (const schema of ['', 'x'.repeat(64), 'ü'.repeat(32), 'a\0b']) {
    assert.throws(() => new PostgresStorage({ url, schema }), { code: 'INVALID_ARGUMENT' })
  }
  assert.throws(() => new PostgresStorage({ url: 'redis://127.0.0.1' }), { code: 'INVALID_ARGUMENT' })
})

test('[Q5.15] [trap 48] a schema may have any name that fits: with quotes, spaces, 63 bytes', async () => {
  for (const schema of [`it's "quoted"; DROP TABLE x; --`, 'x'.repeat(63), 'Größe $1 $.jobs', 'select']) {
    await works(new PostgresStorage({ ...(await postgresWay()), schema }))
  }
})

test('ten who open a new schema at once make it once', async () => {
  const schema = newSchema()
  const way = await postgresWay()
  const storages = Array.from({ length: 10 }, () => new PostgresStorage({ ...way, schema }))
  await Promise.all(storages.map((storage) => storage.connect()))
  await Promise.all(storages.map((storage) => storage.disconnect()))
})

test('a schema that is not there is refused without `migrate`, and made by hand by the plan', async () => {
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
