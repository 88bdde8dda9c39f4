// What a page costs a storage with many types and jobs: the number of calls, which must not grow with either.

import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { MemoryStorage, type Storage } from 'holdfast'
import type { JobsHistogram, JobsPage, Overview, TypesPage } from '../src/shared/api.ts'
import { type Calls, counting } from './calls.ts'
import { open } from './client.ts'

const types = 120
const perType = 25
const name = (n: number): string => `type-${String(n).padStart(3, '0')}`

describe('many types', () => {
  const memory = new MemoryStorage()
  before(async () => {
    for (let n = 0; n < types; n++) {
      await memory.add(
        Array.from({ length: perType }, (_, index) => ({
          type: `queue.${name(n)}`,
          id: `job-${n}-${index}`,
          token: `${n}`,
          retention: { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 },
          ...(n === 77 && index === 3 && { group: { key: 'rare' } }),
        })),
      )
    }
    const lastTypes = [{ type: `queue.${name(119)}`, leaseMs: 60_000 }]
    const { jobs } = await memory.claim({ worker: 'w/1', slots: 1, types: lastTypes })
    await memory.settle(
      jobs.map(({ type, id, worker, attempt }) => ({
        type,
        id,
        worker,
        attempt,
        kind: 'failed' as const,
        error: Buffer.from('"x"'),
      })),
    )
  })

  /** The data of a view of a new dashboard, and the calls that it took. */
  async function cost<T>(path: string): Promise<{ readonly data: T; readonly calls: Record<string, number> }> {
    const calls: Calls = new Map()
    const { client } = open({ storage: counting(memory as Storage, calls) })
    const data = await client.view<T>(path)
    await client.dashboard.close()
    for (const other of ['connect', 'disconnect']) calls.delete(other)
    return { data, calls: Object.fromEntries(calls) }
  }

  test('[F43] the overview counts all types by one call', async () => {
    const { data, calls } = await cost<Overview>('overview')
    assert.deepEqual([data.totals!.types, data.types.length], [types, types])
    assert.deepEqual(calls, { count: 1, 'kv.list': 1 })
  })

  test('[F43] a page of types reads the limits of all of them by one call', async () => {
    const { data, calls } = await cost<TypesPage>('types')
    assert.equal(data.types.length, 50)
    assert.deepEqual(data.types[1]!.limits.use, { running: 0, waiting: perType })
    // The workers, and the limits.
    assert.deepEqual(calls, { count: 1, 'kv.list': 2 })
  })

  test('[F43] an id is looked for in every type by one call', async () => {
    const { data, calls } = await cost<JobsPage>('jobs?q=job-119-7')
    assert.deepEqual(
      data.items.map(({ name: type, id }) => [type, id]),
      [[name(119), 'job-119-7']],
    )
    assert.equal(data.truncated, undefined)
    assert.deepEqual(calls, { count: 1, 'kv.list': 1, get: 1 })
  })

  test('[F43] the first page of a filter is a few calls, in the order of the storage', async () => {
    for (const q of ['', 'state:failed', 'state:queued', 'group:rare', 'age<1h', 'age>1h']) {
      const { data, calls } = await cost<JobsPage>(`jobs?q=${encodeURIComponent(q)}`)
      assert.equal(data.sort, 'storage', q)
      assert.ok(calls.list! <= 3, `${q}: ${calls.list} calls of list`)
    }
    const { data } = await cost<JobsPage>('jobs?q=state:failed')
    assert.deepEqual(
      data.items.map(({ name: type }) => type),
      [name(119)],
    )
  })

  test('[F43] the jobs of few types that have few jobs come newest first', async () => {
    for (const q of [`type:${name(5)}`, `type:${name(5)} state:queued`, `face:queue type:${name(5)} type:${name(6)}`]) {
      const { data, calls } = await cost<JobsPage>(`jobs?q=${encodeURIComponent(q)}`)
      assert.equal(data.sort, 'new', q)
      assert.equal(data.items.length, q.includes(name(6)) ? 2 * perType : perType, q)
      assert.ok(calls.list! <= 3, `${q}: ${calls.list} calls of list`)
    }
    const { data } = await cost<JobsPage>('jobs?q=face:queue')
    assert.equal(data.sort, 'storage', 'all types, by their face')
  })

  test('[F43] the page of the app begins the count that its views wait for', async () => {
    const calls: Calls = new Map()
    const { client } = open({ storage: counting(memory as Storage, calls) })
    assert.equal((await client.send('/')).status, 200)
    assert.equal(calls.get('count'), 1)
    await client.view('overview')
    await client.view('summary')
    assert.equal(calls.get('count'), 1)
    await client.dashboard.close()
  })

  test('[F43] a filter without an index finds its job within some pages', async () => {
    let cursor: string | undefined = ''
    for (let pages = 0; cursor !== undefined && pages < 100; pages++) {
      const { data }: { readonly data: JobsPage } = await cost<JobsPage>(
        `jobs?q=group:rare${cursor && `&cursor=${cursor}`}`,
      )
      if (data.items.length > 0) {
        assert.deepEqual([data.items[0]!.name, data.items[0]!.id], [name(77), 'job-77-3'])
        return
      }
      cursor = data.nextCursor
    }
    assert.fail('expected the job')
  })

  test('[F43] the histogram is read once, of the first jobs of the list, and says so', async () => {
    const { data, calls } = await cost<JobsHistogram>('histogram?q=state:queued')
    assert.deepEqual([data.counted, data.hasMore], [300, true])
    const sum = data.points.reduce((all, { states }) => all + (states.queued ?? 0), 0)
    assert.equal(sum, 300)
    assert.ok(calls.list! <= 3, `${calls.list} calls of list`)
  })
})
