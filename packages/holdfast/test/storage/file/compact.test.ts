// Compaction: the log stays short, and a process that lags behind catches up.

import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Disk, nodeDisk } from '../../../src/storage/file/log/disk.ts'
import { FileStorage } from '../../../src/storage/file/file-storage.ts'
import type { Session } from '../../../src/storage/file/session.ts'
import { defaultType } from '../../../src/storage/stored-type.ts'
import { sized } from '../../full-size.ts'
import { dump } from './dump.ts'
import { MemoryDisk } from './memory-disk.ts'

const retention = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }
const job = (id: string) => ({ type: defaultType, id, token: `t ${id}`, payload: Buffer.alloc(50_000, id), retention })

test('a replica whose next commit is gone starts again from the snapshot, and no number is given twice', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-file-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const sessions: Session[] = []
  const open = async (): Promise<FileStorage> => {
    const storage = new FileStorage(
      { directory, durability: 'relaxed' },
      { opened: (session) => sessions.push(session) },
    )
    await storage.connect()
    return storage
  }
  const [lagging, busy] = [await open(), await open()]
  await lagging.add([job('first')])
  for (let n = 0; n < 100; n++) await busy.add([job(`j${n}`)])
  assert.equal((await readdir(join(directory, 'log'))).length, 1)
  assert.equal((await readdir(join(directory, 'snapshot'))).length, 1)
  // The process that lags behind reads and writes, both on the current state.
  assert.equal((await lagging.count({})).types[0]!.states.queued, 101)
  await lagging.add([job('last')])
  assert.equal((await busy.count({})).types[0]!.states.queued, 102)
  const fresh = await open()
  await lagging.count({})
  const [one, two, three] = sessions.map(({ journal }) => dump(journal.replica, 0))
  assert.deepEqual(one, three)
  assert.deepEqual(two, three)
  for (const storage of [lagging, busy, fresh]) await storage.disconnect()
})

test('a snapshot without room on the disk leaves no file behind', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-file-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  let refused = 0
  const disk: Disk = {
    ...nodeDisk,
    create(path, bytes) {
      if (!isSnapshot(bytes)) return nodeDisk.create(path, bytes)
      refused++
      nodeDisk.close(nodeDisk.create(path, bytes.subarray(0, bytes.length / 2)))
      throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
    },
  }
  const storage = new FileStorage({ directory, durability: 'relaxed' }, { disk })
  await storage.connect()
  for (let n = 0; n < 30; n++) await storage.add([job(`j${n}`)])
  await storage.disconnect()
  assert.ok(refused > 0)
  assert.deepEqual(await readdir(join(directory, 'tmp')), [])
  assert.deepEqual(await readdir(join(directory, 'snapshot')), [])
})

const isSnapshot = (bytes: Uint8Array): boolean => Buffer.from(bytes.subarray(0, 200)).includes('"snapshot"')

const backlog = sized(50_000, 10_000)

test(`[trap 39] what is written for a job, and how often, is the same with ${backlog} waiting as with 500`, async () => {
  const [few, many] = [await costOf(500), await costOf(backlog)]
  assert.ok(many.bytes <= 1.1 * few.bytes, `${many.bytes} and ${few.bytes} bytes`)
  assert.ok(many.calls <= 1.1 * few.calls, `${many.calls} and ${few.calls} calls`)
})

const small = (id: string) => ({ type: defaultType, id, token: id, payload: Buffer.from('{}'), retention })

/** Waits until the view shows all jobs: its cost belongs to the adds before. */
async function settled(storage: FileStorage, disk: MemoryDisk): Promise<void> {
  let written = -1
  disk.before = (_, __, bytes = 0) => void (written += bytes)
  while (written !== 0) {
    written = 0
    await storage.sweep({ limit: 1 })
  }
}

/** The cost of adding, claiming and settling a job, at this backlog. */
async function costOf(waiting: number): Promise<{ bytes: number; calls: number }> {
  const disk = new MemoryDisk()
  const fill = new FileStorage({ directory: '/d' }, { disk })
  await fill.connect()
  for (let n = 0; n < waiting; n += 500) {
    await fill.add(Array.from({ length: 500 }, (_, index) => small(`w${n + index}`)))
  }
  await settled(fill, disk)
  await fill.disconnect()
  const cost = { bytes: 0, calls: 0 }
  disk.before = (_, __, bytes = 0) => {
    cost.calls++
    cost.bytes += bytes
  }
  const storage = new FileStorage({ directory: '/d' }, { disk })
  await storage.connect()
  for (let n = 0; n < 50; n++) {
    await storage.add([small(`j${n}`)])
    const { jobs } = await storage.claim({ worker: `k${n}`, slots: 1, types: [{ type: defaultType, leaseMs: 60_000 }] })
    const outcomes = jobs.map(({ type, id, worker, attempt }) => ({
      type,
      id,
      worker,
      attempt,
      kind: 'completed' as const,
    }))
    await storage.settle(outcomes)
  }
  await storage.disconnect()
  assert.ok(cost.bytes > 0)
  return cost
}
