// Groups and limits in the log: after a crash, a compaction, a restart, and in the log of an older version.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { FileStorage } from '../../../src/storage/file/file-storage.ts'
import type { Disk } from '../../../src/storage/file/log/disk.ts'
import { encodeFrame } from '../../../src/storage/file/log/frame.ts'
import { padded } from '../../../src/storage/file/log/paths.ts'
import type { Claim, Limits, NewJob } from '../../../src/storage/storage.ts'
import { oldCommits, oldLogEndsAt } from './fixtures/old-log.ts'
import type { MemoryDisk } from './memory-disk.ts'
import { Bench } from './replica-bench.ts'

const retention = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }
const job = (id: string, more: Partial<NewJob> = {}): NewJob => ({ type: 'a', id, token: id, retention, ...more })
const inGroup = (key: string, ...ids: string[]): NewJob[] => ids.map((id) => job(id, { group: { key } }))

let claims = 0
const claim = (storage: FileStorage, limits: Limits, slots = 10): Promise<Claim> =>
  storage.claim({ worker: `w${++claims}`, slots, types: [{ type: 'a', leaseMs: 5_000, limits }] })

async function claimed(storage: FileStorage, limits: Limits, slots?: number): Promise<string[]> {
  return (await claim(storage, limits, slots)).jobs.map(({ id }) => id)
}

async function complete(storage: FileStorage, { jobs }: Claim, ...ids: string[]): Promise<void> {
  const leases = jobs.filter(({ id }) => ids.includes(id))
  const verdicts = await storage.settle(
    leases.map(({ type, id, worker, attempt }) => ({ type, id, worker, attempt, kind: 'completed' as const })),
  )
  for (const { verdict } of verdicts) assert.equal(verdict, 'settled')
}

/** The disk of a process that ends right after its next commit is in the log, before it does anything else. */
function endsAfterCommit(disk: MemoryDisk): Disk & { isArmed: boolean } {
  let isDead = false
  const target: Disk & { isArmed: boolean } = Object.assign(Object.create(disk) as MemoryDisk, { isArmed: false })
  return new Proxy(target, {
    get: (own, name) => {
      if (name === 'isArmed') return own.isArmed
      const value: unknown = Reflect.get(disk, name)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        if (isDead) throw new Error('the process has ended')
        const answer: unknown = Reflect.apply(value, disk, args)
        if (name === 'link' && own.isArmed && String(args[1]).endsWith('.commit')) {
          isDead = true
          throw new Error('the process has ended')
        }
        return answer
      }
    },
  })
}

test('[F20] a process that ends right after its commit leaves the group at its limit, until the leases are lost', async () => {
  const limits: Limits = { group: { limit: 2 } }
  const bench = new Bench()
  const other = await bench.open()
  await other.add([...inGroup('g', 'g1', 'g2', 'g3'), ...inGroup('h', 'h1')])
  const disk = endsAfterCommit(bench.disk)
  const ending = await bench.openApart(disk)
  await ending.count({})
  disk.isArmed = true
  await assert.rejects(claim(ending, { groups: { g: { limit: 2 }, h: { limit: 1 } } }, 3), /the process has ended/)
  await bench.check()
  // It has g1, h1 and g2.
  assert.deepEqual(await claimed(other, limits), [])
  const { types } = await other.count({ types: ['a'], limits: { type: 'a', limits, groups: ['g', 'h'] } })
  assert.deepEqual(
    types[0]!.groups!.map(({ group, running, waiting }) => ({ group, running, waiting })),
    [
      { group: 'g', running: 2, waiting: 1 },
      { group: 'h', running: 1, waiting: 0 },
    ],
  )
  const fresh = await bench.open()
  assert.equal((await fresh.nextDueAt([{ type: 'a', leaseMs: 1, limits }]))!.at, bench.now + 5_000)
  bench.now += 5_000
  const { jobs, recovered } = await claim(fresh, limits)
  assert.equal(recovered.length, 3)
  assert.deepEqual(
    jobs.map(({ id }) => id).toSorted(),
    ['g3', 'h1', jobs.find(({ id }) => /g[12]/.test(id))!.id].toSorted(),
  )
  await bench.check()
  await bench.close()
})

test('[F20] [F21] [F22] [F23] after a compaction, full, held, slowed and limited groups are what they were', async () => {
  const limits: Limits = {
    group: { limit: 2 },
    groups: { r: { rate: { limit: 2, perMs: 60_000 } } },
    rate: { limit: 100, perMs: 60_000 },
  }
  const bench = new Bench()
  const [busy, lagging] = [await bench.open(), await bench.open()]
  const hold = { group: { key: 'held', ordered: true, onFailure: 'hold' } } as const
  await busy.add([
    ...inGroup('full', 'f1', 'f2', 'f3'),
    ...inGroup('r', 'r1', 'r2', 'r3'),
    ...inGroup('slow', 's1', 's2'),
    job('x1', hold),
    job('x2', hold),
    job('heavy', { weight: 7 }),
  ])
  const first = await claim(busy, limits, 20)
  assert.deepEqual(first.jobs.map(({ id }) => id).toSorted(), ['f1', 'f2', 'heavy', 'r1', 'r2', 's1', 's2', 'x1'])
  const leaseOf = (id: string) => {
    const { type, worker, attempt } = first.jobs.find((found) => found.id === id)!
    return { type, id, worker, attempt }
  }
  await busy.settle([
    { ...leaseOf('x1'), kind: 'failed' },
    { ...leaseOf('s1'), kind: 'released', delayMs: 30_000, slowDown: 'group' },
    { ...leaseOf('s2'), kind: 'completed' },
  ])
  await busy.extend(first.jobs.map(({ id }) => ({ ...leaseOf(id), leaseMs: 600_000 })))
  const uses = () =>
    Promise.all(
      bench.storages.map((storage) =>
        storage.count({ types: ['a'], limits: { type: 'a', limits, groups: ['full', 'r', 'slow', 'held'] } }),
      ),
    )
  const [before] = await uses()
  assert.equal(before!.types[0]!.limits!.used, 14)
  const payload = Buffer.alloc(50_000, 'x')
  for (let n = 0; n < 40; n++) await busy.add([{ ...job(`p${n}`, { payload }), type: 'b' }])
  assert.equal(bench.disk.names('/d/snapshot').length, 1)
  const fresh = await bench.open()
  await bench.check()
  for (const after of await uses()) assert.deepEqual(after, before)
  for (const storage of [lagging, fresh]) assert.deepEqual(await claimed(storage, limits), [])
  await complete(fresh, first, 'f1')
  assert.deepEqual(await claimed(lagging, limits), ['f3'])
  await lagging.revive([{ type: 'a', id: 'x1' }])
  assert.deepEqual(await claimed(fresh, limits), ['x1'])
  bench.now += 60_000
  // The leases of f3 and x1 have run out.
  assert.deepEqual((await claimed(busy, limits)).toSorted(), ['f3', 'r3', 's1', 'x1'])
  await bench.check()
  await bench.close()
})

test('[F22] rates are kept over a restart, for types and groups, and deleted by a sweep after their window', async () => {
  const ofType: Limits = { rate: { limit: 3, perMs: 1_000 } }
  const ofGroup: Limits = { group: { rate: { limit: 2, perMs: 1_000 } } }
  for (const limits of [ofType, ofGroup]) {
    const bench = new Bench()
    const once = async <T>(run: (storage: FileStorage) => Promise<T>): Promise<T> => {
      const storage = await bench.open()
      const answer = await run(storage)
      await bench.check()
      await bench.close()
      return answer
    }
    const weight = limits === ofType ? 2 : 1
    await once((storage) => storage.add(inGroup('g', 'g1', 'g2', 'g3').map((fields) => ({ ...fields, weight }))))
    const first = await once((storage) => claim(storage, limits, 1))
    bench.now += 400
    const second = await once((storage) => claim(storage, limits))
    // Of the type: a second job of weight 2 is too heavy.
    assert.equal(second.jobs.length, limits === ofType ? 0 : 1)
    await once((storage) => complete(storage, first, 'g1'))
    const next = await once((storage) => storage.nextDueAt([{ type: 'a', leaseMs: 1, limits }]))
    assert.equal(next!.at, bench.now + 600)
    bench.now += 599
    assert.deepEqual(await once((storage) => claimed(storage, limits)), [])
    bench.now += 1
    const third = await once((storage) => claim(storage, limits))
    assert.equal(third.jobs.length, 1)
    const rest = limits === ofType ? third : { ...third, jobs: [...second.jobs, ...third.jobs] }
    await once((storage) => complete(storage, rest, 'g2', 'g3'))
    const linesOf = () => bench.lines().filter((line) => 'group' in line || 'flow' in line)
    assert.ok(linesOf().length > 0)
    bench.now += 1_000
    if (limits === ofType) {
      await once(async (storage) => complete(storage, await claim(storage, limits), 'g3'))
      bench.now += 1_000
    }
    await once((storage) => storage.sweep({ limit: 10 }))
    assert.deepEqual(linesOf(), [])
  }
})

test('a log of format 1 opens, its ordered groups have their turns, and all replicas agree on them', async () => {
  const bench = new Bench()
  bench.now = oldLogEndsAt
  // The first process made the folder.
  await (await bench.openApart(bench.disk)).disconnect()
  const folder = join('/d/log', bench.disk.names('/d/log')[0]!)
  oldCommits.forEach(({ last, lines }, index) => {
    const number = index + 1
    const head = { holdfast: 'commit', format: 1, number, last, durability: 'relaxed' } as const
    const bytes = encodeFrame(
      head,
      lines.map((line) => JSON.stringify(line)),
    )
    bench.disk.close(bench.disk.create(join(folder, `${padded(number)}.commit`), bytes))
  })
  const [one, two] = [await bench.open(), await bench.open()]
  bench.now += 100
  await bench.check()
  const { types } = await one.count({})
  assert.deepEqual(types[0]!.pausedGroups, [
    { group: 'p', since: oldLogEndsAt - 10, by: 'ada' },
    { group: 'q', since: oldLogEndsAt - 10, by: undefined },
  ])
  assert.equal((await one.add([job('other', { group: { key: 'g' } })]))[0]!.verdict, 'group_kind')
  assert.deepEqual((await claimed(two, {})).toSorted(), ['g2', 'plain'])
  await bench.check()
  await one.settle([{ type: 'a', id: 'h1', worker: 'w1', attempt: 1, kind: 'completed' }])
  await two.pause({ type: 'a', group: 'p', paused: false })
  await two.pause({ type: 'a', group: 'q', paused: false })
  assert.deepEqual(await claimed(one, {}), ['h2', 'p1'])
  bench.now += 5_000
  // The leases of the jobs before have run out.
  assert.ok((await claimed(two, {})).includes('l1'))
  await bench.check()
  await bench.close()
})
