// Which program the environment and the PATH select, and the error when there is none.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { findPgbouncer, findPostgres, findRedis, findValkey } from './find.ts'

test('redis-server is the first executable one on the PATH', (t) => {
  const { without, unrunnable, first, second } = folders(t)
  assert.equal(findRedis({ PATH: [without, unrunnable, first, second].join(':') }), join(first, 'redis-server'))
  assert.equal(findRedis({ PATH: [without, unrunnable].join(':') }), undefined)
  assert.equal(findRedis({}), undefined)
})

test('a folder named by the environment is the only one searched', (t) => {
  const { without, first, second } = folders(t)
  assert.equal(findRedis({ HOLDFAST_REDIS_BIN: second, PATH: first }), join(second, 'redis-server'))
  assert.equal(findRedis({ HOLDFAST_REDIS_BIN: without, PATH: first }), undefined)
})

test('valkey-server is found by VALKEY_SERVER only', (t) => {
  const { without, first } = folders(t)
  assert.equal(findValkey({ VALKEY_SERVER: join(first, 'valkey-server') }), join(first, 'valkey-server'))
  assert.equal(findValkey({ PATH: first }), undefined)
  assert.throws(() => findValkey({ VALKEY_SERVER: without }), /VALKEY_SERVER: expected the path of valkey-server/)
})

test('Postgres is found by POSTGRES_BIN, else by pg_config, else as the newest of Debian, else on the PATH', (t) => {
  const { root, first, second, without } = folders(t)
  const none = join(root, 'none')
  for (const version of ['9', '14', '16']) mkdirSync(join(root, 'debian', version, 'bin'), { recursive: true })
  const [old, newer] = ['9', '14'].map((version) => join(root, 'debian', version, 'bin')) as [string, string]
  for (const folder of [old, newer, second]) program(folder, 'initdb', 'postgres')
  program(first, 'initdb')
  assert.equal(findPostgres({ PATH: `${first}:${second}` }, none), second)
  assert.equal(findPostgres({ PATH: second }, join(root, 'debian')), newer)
  writeFileSync(join(without, 'pg_config'), `#!/bin/sh\necho ${old}\n`, { mode: 0o755 })
  assert.equal(findPostgres({ PATH: `${without}:${second}` }, join(root, 'debian')), old)
  assert.equal(findPostgres({ POSTGRES_BIN: second, PATH: without }, join(root, 'debian')), second)
  assert.equal(findPostgres({ POSTGRES_BIN: first, PATH: second }, join(root, 'debian')), undefined)
  assert.equal(findPostgres({}, none), undefined)
})

test('pgbouncer is found by PGBOUNCER, else on the PATH', (t) => {
  const { first, second, without } = folders(t)
  program(first, 'pgbouncer')
  program(second, 'pgbouncer')
  assert.equal(findPgbouncer({ PATH: `${without}:${first}` }), join(first, 'pgbouncer'))
  assert.equal(findPgbouncer({ PGBOUNCER: join(second, 'pgbouncer'), PATH: first }), join(second, 'pgbouncer'))
  assert.throws(() => findPgbouncer({ PGBOUNCER: without }), /PGBOUNCER: expected the path of pgbouncer/)
})

test('npm run servers exits with 1 and one sentence when a named folder has no redis-server', (t) => {
  const { without } = folders(t)
  const script = fileURLToPath(new URL('../scripts/servers.ts', import.meta.url))
  const env = { ...process.env, HOLDFAST_REDIS_BIN: without }
  const { status, stderr } = spawnSync(process.execPath, [script], { env, encoding: 'utf8' })
  assert.equal(status, 1)
  assert.equal(stderr.trim(), `HOLDFAST_REDIS_BIN: expected the folder of redis-server, got "${without}"`)
})

function folders(t: TestContext): Record<'root' | 'without' | 'unrunnable' | 'first' | 'second', string> {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-find-'))
  t.after(() => rmSync(root, { recursive: true }))
  const folder = (name: string, mode?: number): string => {
    mkdirSync(join(root, name))
    if (mode !== undefined) {
      writeFileSync(join(root, name, 'redis-server'), '', { mode })
      writeFileSync(join(root, name, 'valkey-server'), '', { mode })
    }
    return join(root, name)
  }
  return {
    root,
    without: folder('without'),
    unrunnable: folder('unrunnable', 0o644),
    first: folder('first', 0o755),
    second: folder('second', 0o755),
  }
}

function program(folder: string, ...names: string[]): void {
  for (const name of names) writeFileSync(join(folder, name), '', { mode: 0o755 })
}
