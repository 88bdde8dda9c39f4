// One connection for everything that is called: calls take turns, and none waits for one that waits for it.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Queue } from 'holdfast'
import { PostgresStorage } from 'holdfast/postgres'
import { Pool } from 'pg'
import { postgresPlace, stopPostgres } from '../postgres-subject.ts'

after(stopPostgres)

for (const way of ['url', 'client'] as const) {
  test(`[trap 48] a pool of one connection, by ${way}: 50 enqueues and waits at once, under names with quotes`, async (t) => {
    const { server } = await postgresPlace()
    const schema = `"it's" ${way}; --`
    const pool = new Pool({ connectionString: server.url, max: 1 })
    pool.on('error', () => {}) // it may see the server go
    t.after(() => pool.end())
    const storage = new PostgresStorage(
      way === 'url' ? { url: server.url, poolSize: 1, schema } : { client: pool, schema },
    )
    const name = `Größe "x"; DROP TABLE jobs; -- ${'ü'.repeat(31)}`
    const queue = new Queue<string, string>({ storage, name, concurrency: 5 })
    t.after(() => queue.stop())
    const runs: string[] = []
    queue.execute(({ id }) => {
      runs.push(id)
      return `of ${id}`
    })
    await queue.start()
    const ids = Array.from({ length: 50 }, (_, n) => `user:${n}:'"`)
    const waits = ids.map((id) => queue.enqueueAndWait(id, '', { timeout: 60_000 }))
    const more = ids.map((id) => queue.enqueue(`more ${id}`, ''))
    assert.deepEqual(
      await Promise.all(waits),
      ids.map((id) => `of ${id}`),
    )
    for (const { status } of await Promise.all(more)) assert.equal(status, 'queued')
    await Promise.all(ids.map((id) => queue.enqueueAndWait(`more ${id}`, '', { timeout: 60_000 })))
    assert.equal(new Set(runs).size, 100)
    assert.equal(runs.length, 100)
  })
}
