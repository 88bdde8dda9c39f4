// `npx holdfast migrate`, run as a process, on a private server.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { PostgresStorage } from 'holdfast/postgres'
import { newSchema, postgresPlace, stopPostgres } from '../postgres-subject.ts'

after(stopPostgres)

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

/** Its output and exit code. */
async function holdfast(...args: readonly string[]): Promise<{ code: number; out: string; errors: string }> {
  const { DATABASE_URL: _, ...env } = process.env
  const child = spawn(process.execPath, ['--conditions=@holdfast/source', main, ...args], { env })
  let [out, errors] = ['', '']
  child.stdout.on('data', (chunk) => (out += chunk))
  child.stderr.on('data', (chunk) => (errors += chunk))
  const code = await new Promise<number>((resolve) => child.on('close', (ended) => resolve(ended!)))
  return { code, out, errors }
}

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

test('wrong usage prints the usage; a server that does not answer is an error without a stack trace', async () => {
  assert.deepEqual([(await holdfast('migrate')).code, (await holdfast('migrate', '--plann')).code], [2, 2])
  assert.match((await holdfast('make')).errors, /unknown command 'make'\. The only command is migrate/)
  const long = await holdfast('migrate', '--plan', '--schema', 'x'.repeat(64))
  assert.deepEqual([long.code, /63 bytes/.test(long.errors)], [1, true])
  const away = await holdfast('migrate', '--url', 'postgres://postgres@127.0.0.1:1/postgres')
  assert.equal(away.code, 1)
  assert.doesNotMatch(away.errors, /at .*\.ts/)
})
