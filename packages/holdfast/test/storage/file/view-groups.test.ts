// The view of groups and slow-downs: why does a group wait?

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { join } from 'node:path'
import { defaultType, type NewJob } from 'holdfast/storage'
import type { FileStorage } from '../../../src/storage/file/file-storage.ts'
import { Bench } from './replica-bench.ts'

const retention = { completedMs: 0, failedMs: 60_000, cancelledMs: 0 }
const job = (id: string, group: NewJob['group'], weight = 1): NewJob => ({
  type: defaultType,
  id,
  token: id,
  retention,
  weight,
  ...(group && { group }),
})
const limits = { group: { limit: 1, rate: { limit: 10, perMs: 1_000 } } }

test('[F20] [F21] [F22] [F23] the files of groups show their kind, jobs, limits, holders and slow-downs, and go with them', async () => {
  const bench = new Bench()
  const storage = await bench.open()
  const held = { key: 'orders', ordered: true, onFailure: 'hold' } as const
  await storage.add([job('a', { key: 'mail' }, 3), job('b', { key: 'mail' }), job('c', held), job('d', held)])
  const types = [{ type: defaultType, leaseMs: 60_000, limits }]
  const { jobs } = await storage.claim({ worker: 'w', slots: 10, types })
  const [a, c] = jobs.map(({ type, id, worker, attempt }) => ({ type, id, worker, attempt }))
  await storage.settle([{ ...c!, kind: 'failed' }])
  await shown(storage)
  const read = (path: string): unknown => {
    const bytes = bench.disk.read(join('/d', path))
    return bytes && JSON.parse(bytes.toString())
  }
  assert.deepEqual(read('groups/mail.json'), {
    group: 'mail',
    kind: 'unordered',
    running: 1,
    jobs: 2,
    next: 'b',
    atItsLimit: true,
    started: { perMs: 1_000, weight: 3 },
  })
  assert.deepEqual(read('groups/orders.json'), {
    group: 'orders',
    kind: 'ordered',
    running: 0,
    jobs: 1,
    next: 'd',
    heldBy: ['c'],
    started: { perMs: 1_000, weight: 1 },
  })
  const record = read('jobs/a.json') as { group: string; membership: string; weight: number }
  assert.deepEqual([record.group, record.membership, record.weight], ['mail', 'unordered', 3])
  await storage.settle([{ ...a!, kind: 'released', delayMs: 500, slowDown: 'type' }])
  await storage.pause({ type: defaultType, group: 'mail', paused: true, by: 'ada' })
  await shown(storage)
  assert.deepEqual(read('slowed.json'), { until: bench.now + 500 })
  assert.deepEqual((read('groups/mail.json') as { paused: object }).paused, { since: bench.now, by: 'ada' })
  // Once nothing needs them, a sweep deletes them.
  await storage.pause({ type: defaultType, group: 'mail', paused: false })
  await storage.cancel(['a', 'b', 'd'].map((id) => ({ type: defaultType, id })))
  await storage.remove([{ type: defaultType, id: 'c' }])
  bench.now += 1_000
  await shown(storage)
  for (const path of ['groups/mail.json', 'groups/orders.json', 'slowed.json'])
    assert.equal(read(path), undefined, path)
  await bench.check()
  await bench.close()
})

test('after a process was killed, the next one that opens the directory shows the groups as they are', async () => {
  const bench = new Bench()
  const storage = await bench.open()
  await storage.add([job('a', { key: 'mail' })])
  await shown(storage)
  await storage.disconnect()
  const left = bench.disk.read('/d/groups/mail.json')!
  const create = (path: string, bytes: Buffer): void => bench.disk.close(bench.disk.create(path, bytes))
  bench.disk.unlink('/d/groups/mail.json')
  create('/d/groups/gone.json', left)
  // The marker of a process that does not exist.
  create('/d/unshown/left-1', Buffer.alloc(0))
  await storage.connect()
  await shown(storage)
  assert.deepEqual(bench.disk.names('/d/groups'), ['mail.json'])
  await storage.disconnect()
})

/** A sweep waits for the view. */
async function shown(storage: FileStorage): Promise<void> {
  for (let n = 0; n < 2; n++) await storage.sweep({ limit: 10 })
}
