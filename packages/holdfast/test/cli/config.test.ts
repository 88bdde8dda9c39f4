// holdfast.config.ts: how it is found and refused, and the commands that read it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineConfig, MemoryStorage, Queue } from 'holdfast'
import { configFolder, workingConfig } from './config-folder.ts'
import { cli } from './test-host.ts'

const refused = (given: object): void =>
  assert.throws(() => defineConfig(given as never), { code: 'INVALID_ARGUMENT' }, JSON.stringify(given))

test('defineConfig refuses what is wrong with the field', () => {
  const storage = new MemoryStorage()
  const config = { storage, workers: [new Queue<string>({ storage })] }
  assert.equal(defineConfig(config), config)
  for (const given of [
    {},
    { storage: {} },
    { storage, workers: [{}] },
    { storage, workers: 5 },
    { storage, worker: [] },
  ]) {
    refused(given)
  }
  for (const given of [{ healthPort: 65_536 }, { healthPort: '80' }, { graceMs: -1 }, { healthHost: '' }]) {
    refused({ storage, ...given })
  }
})

test('check: what is fine, and what is not; no connection', async (t) => {
  const cwd = await configFolder(t, workingConfig)
  const fine = await cli(['check'], { cwd })
  assert.deepEqual(
    [fine.code, fine.out],
    [0, "storage  sqlite\nworker   queue 'mail'\nworker   queue 'slow'\nThe configuration is fine.\n"],
  )
  // A connection would have made the file.
  assert.match((await cli(['status', '--url', 'sqlite:./jobs.db'], { cwd })).errors, /there is no file/)

  const twice = await configFolder(t, workingConfig.replace('[mail, slow]', '[mail, mail]'))
  const { code, out } = await cli(['check', '--json'], { cwd: twice })
  assert.deepEqual([code, JSON.parse(out).problems.length], [1, 1])
  for (const [text, problem] of [
    ['throw new Error("no database")', /cannot be loaded: no database/],
    ['export const a = 1', /has no default export/],
    ['export default 5', /expected a configuration, got 5/],
    ['export default { storage: 5 }', /storage/],
  ] as const) {
    const wrong = await cli(['check'], { cwd: await configFolder(t, text) })
    assert.equal(wrong.code, 2, wrong.errors)
    assert.match(wrong.errors, problem)
  }
})

test('a configuration may be a function, have another name, and is used by the other commands', async (t) => {
  const code = workingConfig.replace('export default defineConfig(', 'export default async () => defineConfig(')
  const cwd = await configFolder(t, code, 'jobs.ts')
  assert.equal((await cli(['status', '--config', 'jobs.ts'], { cwd })).code, 0)
  assert.equal((await cli(['status', '--config', 'none.ts'], { cwd })).code, 2)
  assert.equal((await cli(['status', '--config', 'jobs.ts', '--url', 'sqlite:x'], { cwd })).code, 2)
  const nothing = await cli(['status'], { cwd })
  assert.deepEqual([nothing.code, /no storage is given/.test(nothing.errors)], [2, true])
  const env = { HOLDFAST_URL: 'sqlite:./jobs.db' }
  assert.equal((await cli(['status'], { cwd, env })).code, 0)
})

test('enqueue uses the queue of the configuration, and so its search fields', async (t) => {
  const cwd = await configFolder(t, workingConfig)
  assert.equal((await cli(['enqueue', 'mail', '"ada"', '--id', 'm1'], { cwd })).out, 'queued  queue.mail m1\n')
  const { items } = JSON.parse((await cli(['jobs', '--where', 'to=ada', '--json'], { cwd })).out)
  assert.deepEqual([items.length, items[0].search], [1, { to: 'ada' }])
  assert.match((await cli(['jobs', '--where', 'to=grace'], { cwd })).out, /No job matches/)
})

test('work: what it refuses', async (t) => {
  const cwd = await configFolder(t, workingConfig.replace('[mail, slow]', '[]'))
  assert.match((await cli(['work'], { cwd })).errors, /has no workers/)
  assert.equal((await cli(['work', '--url', 'sqlite:./jobs.db'], { cwd })).code, 2)
  assert.equal((await cli(['work'], {})).code, 2)
  const failing = workingConfig.replace(
    '[mail, slow]',
    `[mail, { start: () => Promise.reject(new Error('no key')), stop: async () => {}, health: () => mail.health() }]`,
  )
  const broken = await cli(['work'], { cwd: await configFolder(t, failing) })
  assert.deepEqual([broken.code, /no key/.test(broken.errors)], [1, true])
})
