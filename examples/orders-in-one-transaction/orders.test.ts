// Runs the example with each way to open a transaction.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('main.ts', import.meta.url))

async function run(...args: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, ['--conditions=@holdfast/source', main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, output }
}

for (const way of ['pg', 'drizzle', 'kysely']) {
  test(`orders and their jobs are committed or rolled back together, with ${way}`, async () => {
    const { code, output } = await run('--with', way)
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
