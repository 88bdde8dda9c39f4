// Runs the example with each way to open a transaction.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { programOf } from '../../scripts/test-programs.ts'
import { startPostgres } from '../../servers/postgres.ts'

const main = programOf(new URL('main.ts', import.meta.url))

async function run(...args: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, ['--conditions=@holdfast/source', main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, output }
}

// Without --url it starts a server, which takes longer than the orders: once is enough.
const server = await startPostgres()
after(() => server.stop())

async function databaseOf(name: string): Promise<string> {
  const client = new Client(server.url)
  await client.connect()
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  return server.url.replace(/[^/]*$/, name)
}

for (const way of ['pg', 'drizzle', 'kysely']) {
  test(`orders and their jobs are committed or rolled back together, with ${way}`, async () => {
    const where = way === 'pg' ? [] : ['--url', await databaseOf(way)]
    const { code, output } = await run('--with', way, ...where)
    assert.equal(code, 0, output)
    assert.match(output, /order-3: refused, and nothing of it was written/)
    assert.match(output, /3 orders placed, 1 rolled back, 0 problems\./)
  })
}

test('an unknown way is refused', async () => {
  const { code, output } = await run('--with', 'paper')
  assert.equal(code, 2)
  assert.match(output, /expected one of pg, drizzle, kysely/)
})
