// A server that comes back with other data, as after the restore of a backup: the numbers of types are not those that processes know.

import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import type { NewJob } from '../../../src/storage/storage.ts'
import { PostgresStorage } from '../../../src/storage/postgres/index.ts'
import { admin, client, eventually, killOthers, libraryNames, sharedServer, stopShared } from './fixtures.ts'

after(stopShared)

const schema = 'other_data'
const keepForEver = { completedMs: Infinity, failedMs: Infinity, cancelledMs: Infinity }
const newJob = (type: string, id: string): NewJob => ({
  type,
  id,
  token: `token of ${id}`,
  payload: new Uint8Array(),
  retention: keepForEver,
})

async function opened(t: TestContext, options: { readonly client: object }): Promise<PostgresStorage> {
  const storage = new PostgresStorage({ ...(options as { client: never }), schema })
  await storage.connect()
  t.after(() => storage.disconnect())
  return storage
}

for (const library of libraryNames) {
  test(`${library}: a job is of its own type after the server came back with other numbers of types`, async (t) => {
    const { url } = await sharedServer()
    const run = await admin(t, url)
    const running = await opened(t, { client: client(t, library, url) })
    const claim = (type: string) =>
      running.claim({ worker: `worker of ${type}`, slots: 9, types: [{ type, leaseMs: 60_000 }] })
    await running.add([newJob('first', 'a')])
    await running.add([newJob('second', 'b')])
    await claim('first')

    const tables = await run(
      `SELECT tablename FROM pg_tables WHERE schemaname = '${schema}' AND tablename <> 'migrations'`,
    )
    const names = tables.map((name) => `${schema}.${String(name)}`)
    await run(`TRUNCATE ${names.join(', ')} RESTART IDENTITY CASCADE`)
    const another = await opened(t, { client: client(t, library, url) })
    await another.add([newJob('second', 'restored')])
    await run(killOthers)

    await eventually(() => running.add([newJob('first', 'new')]))
    const { jobs } = await eventually(() => claim('first'))
    assert.deepEqual(
      jobs.map(({ id }) => id),
      ['new'],
    )
    const { items } = await eventually(() => another.list({ of: 'jobs', types: ['second'], limit: 9 }))
    assert.deepEqual(
      items.map((item) => 'id' in item && item.id),
      ['restored'],
    )
  })
}
