// `npx holdfast migrate`, run as a process, on a private server.

import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { after, test } from 'node:test'
import { PostgresStorage } from 'holdfast/postgres'
import { newSchema, postgresPlace, stopPostgres } from '../postgres-subject.ts'
import { configFolder } from './config-folder.ts'
import { holdfast } from './spawn-cli.ts'
import { cli } from './test-host.ts'

after(stopPostgres)

test('the printed SQL creates the schema that PostgresStorage expects', async () => {
  const { server, pool } = await postgresPlace()
  const schema = newSchema()
  const { code, out } = await holdfast('migrate', '--plan', '--schema', schema)
  assert.equal(code, 0)
  const missing = new PostgresStorage({ url: server.url, schema, migrate: false })
  await assert.rejects(missing.connect(), /migrate/)
  await pool.query(out)
  const storage = new PostgresStorage({ url: server.url, schema, migrate: false })
  await storage.connect()
  await storage.disconnect()
  assert.match((await holdfast('migrate', '--plan', '--schema', schema, '--url', server.url)).out, /up to date/)
})

test('it creates the schema, and does nothing the second time', async () => {
  const { server } = await postgresPlace()
  const args = ['migrate', '--schema', newSchema(), '--url', server.url]
  const [first, second] = [await holdfast(...args), await holdfast(...args)]
  assert.deepEqual([first.code, second.code], [0, 0])
  assert.match(first.out, /is up to date now/)
  assert.match(second.out, /was up to date/)
})

test('it migrates the storage of the configuration, also one with migrate: false, and not the database of DATABASE_URL', async (t) => {
  const { server, pool } = await postgresPlace()
  const schema = newSchema()
  const cwd = await configFolder(
    t,
    `import { defineConfig } from 'holdfast'
import { PostgresStorage } from 'holdfast/postgres'
const storage = new PostgresStorage({ url: '${server.url}', schema: '${schema}', migrate: false })
export default defineConfig({ storage })
`,
  )
  const env = { DATABASE_URL: 'postgres://postgres@127.0.0.1:1/other' }
  const run = (...args: string[]): ReturnType<typeof cli> => cli(['migrate', ...args], { cwd, env })
  const planned = await run('--plan')
  assert.match(planned.out, new RegExp(`CREATE SCHEMA IF NOT EXISTS "${schema}"`))
  assert.deepEqual(
    [(await run()).out, (await run()).out],
    ['the schema is up to date now\n', 'the schema was up to date\n'],
  )
  assert.equal((await pool.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])).rows.length, 1)
  const both = await run('--schema', 'other')
  assert.deepEqual([both.code, /configuration has its own/.test(both.errors)], [2, true])
})

test('without a url and a configuration it migrates the database of DATABASE_URL', async () => {
  const { server } = await postgresPlace()
  const { code, out } = await cli(['migrate', '--schema', newSchema()], {
    cwd: tmpdir(),
    env: { DATABASE_URL: server.url },
  })
  assert.deepEqual([code, out], [0, 'the schema is up to date now\n'])
})

test('a look at a schema that is missing does not create it', async () => {
  const { server, pool } = await postgresPlace()
  const schema = newSchema()
  const { code, errors } = await cli(['status', '--schema', schema, '--url', server.url])
  assert.deepEqual([code, /has no tables of holdfast.*Run npx holdfast migrate/.test(errors)], [1, true])
  const found = await pool.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])
  assert.equal(found.rows.length, 0)
})

test('wrong usage exits 2; a server that does not answer is an error without a stack trace', async () => {
  assert.deepEqual([(await cli(['migrate'])).code, (await cli(['migrate', '--plann'])).code], [2, 2])
  assert.match((await cli(['migrat'])).errors, /unknown command 'migrat'\. Did you mean migrate\?/)
  const long = await cli(['migrate', '--plan', '--schema', 'x'.repeat(64)])
  assert.deepEqual([long.code, /63 bytes/.test(long.errors)], [2, true])
  const away = await cli(['migrate', '--url', 'postgres://postgres:secret@127.0.0.1:1/postgres'])
  assert.equal(away.code, 1)
  assert.doesNotMatch(away.errors, /at .*\.ts|secret/)
})
