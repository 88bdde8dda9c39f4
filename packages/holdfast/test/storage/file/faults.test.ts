// Power cuts, full and broken disks, torn files: acknowledged writes hold, failed ones leave nothing, and the storage works again.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeClock } from 'holdfast/testing'
import { systemClock } from '../../../src/clock.ts'
import { guardStorage } from '../../../src/engine/guard.ts'
import { FileStorage, type FileStorageOptions } from '../../../src/storage/file/file-storage.ts'
import type { NewJob } from '../../../src/storage/storage.ts'
import { defaultType } from '../../../src/storage/stored-type.ts'
import { failure, MemoryDisk } from './memory-disk.ts'

const retention = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }
/** Every third payload is large, so that the log is compacted during the test. */
const textOf = (n: number): string => `payload ${n}`.padEnd(n % 3 === 0 ? 400_000 : 0, '.')
const job = (n: number): NewJob => ({
  type: defaultType,
  id: `j${n}`,
  token: `t${n}`,
  payload: Buffer.from(textOf(n)),
  retention,
})
const types = [{ type: defaultType, leaseMs: 60_000 }]

async function open(disk: MemoryDisk, options: Partial<FileStorageOptions> = {}): Promise<FileStorage> {
  const storage = new FileStorage({ directory: '/d', ...options }, { disk })
  await storage.connect()
  return storage
}

class PowerCut extends Error {}

/** Adds, claims and settles until the power is cut at that call. Returns the acknowledged and the settled ids. */
async function workUntilCut(disk: MemoryDisk, at: number, options?: Partial<FileStorageOptions>) {
  const [added, settled] = [new Set<string>(), new Set<string>()]
  let calls = 0
  disk.before = () => {
    if (++calls >= at) throw new PowerCut()
  }
  try {
    const storage = await open(disk, options)
    for (let n = 0; n < 12; n += 3) {
      const jobs = [job(n), job(n + 1), job(n + 2)]
      // Two calls, one commit.
      await Promise.all([storage.add(jobs.slice(0, 1)), storage.add(jobs.slice(1))])
      for (const { id } of jobs) added.add(id)
      const claim = await storage.claim({ worker: `w${n}`, slots: 1, types })
      for (const { type, id, worker, attempt } of claim.jobs) {
        await storage.settle([{ type, id, worker, attempt, kind: 'completed' }])
        settled.add(id)
      }
    }
    await storage.disconnect()
    return { added, settled, wasCut: false }
  } catch (error) {
    assert.ok(isCut(error), String(error))
    return { added, settled, wasCut: true }
  }
}

const isCut = (error: unknown): boolean =>
  error instanceof PowerCut || (error as { cause?: unknown } | null)?.cause instanceof PowerCut

test('[Q4.09] durability full: after a power cut at any call of the disk, every acknowledged write is there', async () => {
  const clock = fakeClock({ seed: 11 })
  let cuts = 0
  let snapshots = 0
  for (let at = 1; ; at++) {
    const disk = new MemoryDisk()
    const { added, settled, wasCut } = await workUntilCut(disk, at)
    snapshots += disk.names('/d/snapshot').length
    for (let image = 0; image < 3; image++) {
      const storage = await open(disk.powerCut(clock.random))
      const records = await storage.get(
        [...added].map((id) => ({ type: defaultType, id })),
        { parts: ['payload'] },
      )
      for (const record of records) {
        assert.ok(record, `cut at ${at}: a job was lost`)
        assert.equal(Buffer.from(record.payload!).toString(), textOf(Number(record.id.slice(1))))
        if (settled.has(record.id)) assert.equal(record.state, 'completed')
      }
      // The storage works again.
      assert.equal((await storage.add([job(100)]))[0]!.verdict, 'added')
      await storage.disconnect()
    }
    if (!wasCut) break
    cuts++
  }
  assert.ok(cuts > 60 && snapshots > 20, `${cuts} cuts, ${snapshots} with a snapshot`)
})

test('durability relaxed: a power cut may take the last jobs, the others are complete, and the storage works', async () => {
  const clock = fakeClock({ seed: 12 })
  let lost = 0
  for (let at = 5; at < 90; at += 3) {
    const disk = new MemoryDisk()
    const { added } = await workUntilCut(disk, at, { durability: 'relaxed' })
    for (let image = 0; image < 4; image++) {
      const after = disk.powerCut(clock.random)
      const storage = await open(after, { durability: 'relaxed' })
      const records = await storage.get(
        [...added].map((id) => ({ type: defaultType, id })),
        { parts: ['payload'] },
      )
      for (const record of records) {
        if (record) assert.equal(Buffer.from(record.payload!).toString(), textOf(Number(record.id.slice(1))))
        else lost++
      }
      await storage.add([job(100)])
      // Another process reads the same.
      const other = await open(after, { durability: 'relaxed' })
      assert.deepEqual(await other.list({ of: 'jobs', limit: 100 }), await storage.list({ of: 'jobs', limit: 100 }))
      await storage.disconnect()
      await other.disconnect()
    }
  }
  assert.ok(lost > 0, 'the disk of this test loses nothing')
})

for (const code of ['ENOSPC', 'EIO']) {
  test(`[trap 46] ${code} at any call of the disk: a typed error, no partial write, and the storage works again`, async () => {
    let failed = 0
    for (let at = 1; ; at++) {
      const disk = new MemoryDisk()
      const storage = await open(disk)
      await storage.add([job(0)])
      const guarded = guardStorage(storage, systemClock, () => {})
      let calls = 0
      let hit = false
      disk.before = (call, path) => {
        // An error of the view rejects no call.
        if (!path.includes('/tmp/') && !path.includes('/log/') && call !== 'sync') return
        if (++calls !== at) return
        hit = true
        throw failure(code)
      }
      // Two calls in one commit: both are rejected, or neither.
      const answers = await Promise.allSettled([guarded.add([job(1)]), guarded.add([job(2)])])
      disk.before = () => {}
      for (const [index, answer] of answers.entries()) {
        const [record] = await storage.get([job(index + 1)])
        if (answer.status === 'fulfilled') assert.ok(record)
        else {
          failed++
          const {
            code: kind,
            maybeApplied,
            cause,
          } = answer.reason as { code: string; maybeApplied: boolean; cause: Error }
          assert.equal(kind, 'STORAGE_ERROR')
          assert.equal((cause as { code?: string }).code, code)
          if (!maybeApplied) assert.equal(record, undefined)
        }
        assert.equal((await storage.add([job(index + 1)]))[0]!.verdict, 'added')
      }
      const { jobs } = await storage.claim({ worker: 'w', slots: 10, types })
      assert.deepEqual(jobs.map(({ id }) => id).toSorted(), ['j0', 'j1', 'j2'])
      await storage.disconnect()
      const again = await open(disk)
      assert.equal((await again.count({})).types[0]!.states.processing, 3)
      await again.disconnect()
      if (!hit) break
    }
    assert.ok(failed > 0)
  })
}

test('a torn commit is recognised, the commits before it hold, and a durable one after it refuses the directory', async () => {
  const disk = new MemoryDisk()
  const storage = await open(disk)
  for (let n = 0; n < 3; n++) await storage.add([job(n)])
  await storage.disconnect()
  const folder = `/d/log/${disk.names('/d/log')[0]}`
  const path = `${folder}/0000000002.commit`
  const whole = disk.read(path)!
  for (const torn of [whole.subarray(0, 0), whole.subarray(0, 20), whole.subarray(0, -1), flipped(whole)]) {
    disk.rewrite(path, torn)
    await assert.rejects(open(disk), /0000000002\.commit' is incomplete/)
  }
  disk.unlink(`${folder}/0000000003.commit`)
  const repaired = await open(disk)
  const ids = (await repaired.list({ of: 'jobs', limit: 10 })).items.map(({ id }) => id)
  assert.deepEqual(ids, ['j0'])
  await repaired.add([job(7)])
  await repaired.disconnect()
  const again = await open(disk)
  assert.equal((await again.list({ of: 'jobs', limit: 10 })).items.length, 2)
  await again.disconnect()
})

function flipped(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  copy[copy.length - 5]! ^= 1
  return copy
}
