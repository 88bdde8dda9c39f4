// Hostile input: any name is returned unchanged and equals no other, and any bytes are returned unchanged.

import assert from 'node:assert/strict'
import type { Bytes, JobRef, NewJob } from 'holdfast/storage'
import { bytes } from '../case.ts'
import type { Case } from '../case.ts'
import { hostileByteCases } from './hostile-bytes.ts'
import { hostileNames, longNames, lookalikes, separators } from './hostile-names.ts'
import { fenceOf, idsOf, recordOf, refOf, statesOf } from '../records.ts'
import { addOne } from '../scenarios.ts'

const idsOfAll = [...hostileNames, ...longNames]
const sorted = <T>(names: readonly T[]): T[] => names.toSorted()
/** The bytes as text, with a byte order mark kept. */
const read = (value: Bytes | undefined): string | undefined =>
  value && new TextDecoder('utf-8', { ignoreBOM: true }).decode(value)
const ordered = (key: string) => ({ key, ordered: true }) as const

const idCases: readonly Case[] = [
  {
    name: 'add, get, list, claim, extend, settle and recover return every id unchanged',
    proves: ['S24', 'S2', 'trap 44'],
    run: async ({ storage, job, claim, advance, unit }) => {
      const jobs = idsOfAll.map((id) => job({ id, payload: bytes(id), maxAttempts: 9 }))
      const verdicts = await storage.add(jobs)
      assert.deepEqual(
        verdicts.map((verdict) => verdict.verdict === 'added' && verdict.job.id),
        idsOfAll,
      )
      const records = await storage.get(jobs.map(refOf), { parts: ['payload'] })
      assert.deepEqual(
        records.map((record) => [record?.id, read(record?.payload)]),
        idsOfAll.map((id) => [id, id]),
      )
      const { items } = await storage.list({ of: 'jobs', limit: 1000 })
      assert.deepEqual(sorted(idsOf(items)), sorted(idsOfAll))
      await claim({ slots: 1000, types: [{ type: 'mail', leaseMs: unit }] })
      await advance(2 * unit)
      assert.deepEqual(sorted(idsOf(await storage.recover({ types: ['mail'], limit: 1000 }))), sorted(idsOfAll))
      const leases = await claim({ slots: 1000, types: [{ type: 'mail', leaseMs: 500 * unit }] })
      assert.deepEqual(
        sorted(leases.map((lease) => lease.attempt === 2 && read(lease.payload) === lease.id && lease.id)),
        sorted(idsOfAll),
      )
      const extended = await storage.extend(leases.map((lease) => ({ ...fenceOf(lease), leaseMs: 500 * unit })))
      assert.ok(extended.every(({ verdict }) => verdict === 'extended'))
      const settled = await storage.settle(
        leases.map((lease) => ({ ...fenceOf(lease), kind: 'completed', result: bytes(lease.id) }) as const),
      )
      assert.ok(settled.every(({ verdict }) => verdict === 'settled'))
      const done = await storage.get(jobs.map(refOf), { parts: ['result'] })
      assert.deepEqual(
        done.map((record) => record?.state === 'completed' && read(record.result)),
        idsOfAll,
      )
    },
  },
  {
    name: 'a move on one id changes no other id',
    proves: ['S24', 'trap 14'],
    run: async ({ storage, job }) => {
      const jobs = idsOfAll.map((id) => job({ id }))
      await storage.add(jobs)
      for (const [index, each] of jobs.entries())
        if (index % 2 === 0) assert.equal((await storage.cancel([refOf(each)]))[0]?.verdict, 'cancelled')
      assert.deepEqual(
        await statesOf(storage, ...jobs),
        jobs.map((_, index) => (index % 2 === 0 ? 'cancelled' : 'queued')),
      )
      for (const [index, each] of jobs.entries())
        if (index % 2 === 0) assert.equal((await storage.remove([refOf(each)]))[0]?.verdict, 'removed')
      assert.deepEqual(
        await statesOf(storage, ...jobs),
        jobs.map((_, index) => (index % 2 === 0 ? undefined : 'queued')),
      )
    },
  },
  {
    name: 'no name exists before it was added, also words of the language and of the storage',
    proves: ['S24', 'H4'],
    run: async ({ storage, added, claim, unit }) => {
      await added({ id: 'one', type: 'real' })
      const asId = hostileNames.map((id) => ({ type: 'real', id }))
      const asType = hostileNames.map((type) => ({ type, id: 'one' }))
      assert.ok((await storage.get([...asId, ...asType])).every((record) => record === undefined))
      const refusals = [
        ...(await storage.cancel(asId)),
        ...(await storage.revive(asType)),
        ...(await storage.remove(asId)),
      ]
      assert.deepEqual([...new Set(refusals.map(({ verdict }) => verdict))], ['not_found'])
      assert.deepEqual(await claim({ types: hostileNames.map((type) => ({ type, leaseMs: 10 * unit })) }), [])
      const { types } = await storage.count({ types: hostileNames })
      assert.ok(types.every((each) => Object.values(each.states).every((count) => count === 0)))
      assert.equal(({} as Record<string, unknown>)['polluted'], undefined)
    },
  },
]

const typeCases: readonly Case[] = [
  {
    name: 'every type is returned unchanged and has its own jobs',
    proves: ['S24', 'trap 48'],
    run: async ({ storage, job, claimRequest, unit }) => {
      const jobs = hostileNames.map((type) => job({ id: 'same', type, payload: bytes(type) }))
      await storage.add(jobs)
      const records = await storage.get(jobs.map(refOf), { parts: ['payload'] })
      assert.deepEqual(
        records.map((record) => [record?.type, read(record?.payload)]),
        hostileNames.map((type) => [type, type]),
      )
      const counted = (await storage.count({})).types.filter((each) => each.states.queued === 1)
      assert.deepEqual(sorted(counted.map(({ type }) => type)), sorted(hostileNames))
      for (const type of hostileNames) {
        const { jobs: claimed } = await storage.claim(claimRequest({ types: [{ type, leaseMs: 500 * unit }] }))
        assert.deepEqual(
          claimed.map((each) => [each.type, read(each.payload)]),
          [[type, type]],
        )
        const { items } = await storage.list({ of: 'jobs', types: [type], limit: 1000 })
        assert.deepEqual(
          items.map((item) => item.type),
          [type],
        )
      }
    },
  },
  {
    name: 'a pause affects one type, whatever its name',
    proves: ['S22', 'S24'],
    run: async ({ storage, job, claim, unit }) => {
      await storage.add(hostileNames.map((type) => job({ type })))
      const paused = hostileNames.filter((_, index) => index % 2 === 0)
      for (const type of paused) await storage.pause({ type, paused: true, by: type })
      const types = hostileNames.map((type) => ({ type, leaseMs: 500 * unit }))
      const claimed = await claim({ slots: 1000, types })
      assert.deepEqual(
        sorted(claimed.map(({ type }) => type)),
        sorted(hostileNames.filter((type) => !paused.includes(type))),
      )
    },
  },
]

const keyCases: readonly Case[] = [
  {
    name: 'every group key is returned unchanged and has its own group',
    proves: ['F21', 'S24'],
    run: async ({ storage, job, claim }) => {
      const [heads, seconds] = [
        idsOfAll.map((key) => job({ group: ordered(key) })),
        idsOfAll.map((key) => job({ group: ordered(key) })),
      ]
      await storage.add([...heads, ...seconds])
      const leases = await claim({ slots: 1000 })
      assert.deepEqual(sorted(idsOf(leases)), sorted(idsOf(heads)))
      assert.deepEqual(sorted(leases.map(({ group }) => group)), sorted(idsOfAll))
      await storage.settle(leases.map((lease) => ({ ...fenceOf(lease), kind: 'completed' }) as const))
      assert.deepEqual(sorted(idsOf(await claim({ slots: 1000 }))), sorted(idsOf(seconds)))
    },
  },
  {
    name: 'every deduplication key is taken separately, and a duplicate names its job',
    proves: ['F25', 'S24'],
    run: async ({ storage, job }) => {
      const keyed = (key: string): NewJob => job({ deduplication: { key, mode: 'simple' } })
      const first = idsOfAll.map(keyed)
      assert.ok((await storage.add(first)).every(({ verdict }) => verdict === 'added'))
      const again = await storage.add(idsOfAll.map(keyed))
      assert.deepEqual(
        again.map((each) => each.verdict === 'duplicate' && each.job.id),
        idsOf(first),
      )
      const records = await storage.get(first.map(refOf))
      assert.deepEqual(
        records.map((record) => record?.deduplicationKey),
        idsOfAll,
      )
    },
  },
  {
    name: 'every worker, label, token and trace is returned unchanged, and a worker is compared by its whole name',
    proves: ['S6', 'S24', 'trap 14'],
    run: async ({ storage, added, claimOne, unit }) => {
      for (const name of hostileNames) {
        const job = await added({ token: name, trace: name })
        const lease = await claimOne({ worker: name, label: name, types: [{ type: 'mail', leaseMs: 500 * unit }] })
        const record = await recordOf(storage, job)
        assert.deepEqual([lease.worker, lease.token, lease.trace], [name, name, name])
        assert.deepEqual([record.worker, record.label, record.token, record.trace], [name, name, name, name])
        const [stranger] = await storage.settle([{ ...fenceOf(lease), worker: `${name}x`, kind: 'completed' }])
        assert.equal(stranger?.verdict, 'taken_by_another_worker')
        const [own] = await storage.settle([{ ...fenceOf(lease), kind: 'completed' }])
        assert.equal(own?.verdict, 'settled')
      }
    },
  },
  {
    name: 'a chain of any name can be a blocker, and its result is given under that name',
    proves: ['S13', 'S24'],
    run: async ({ storage, job, claim, claimOne, unit }) => {
      const blockers = hostileNames.map((name) => job({ type: name, id: name }))
      await storage.add(blockers)
      await storage.add([job({ blockers: blockers.map(refOf) })])
      const types = hostileNames.map((type) => ({ type, leaseMs: 500 * unit }))
      const leases = await claim({ slots: 1000, types })
      await storage.settle(
        leases.map((lease) => ({ ...fenceOf(lease), kind: 'completed', result: bytes(lease.id) }) as const),
      )
      const { blockers: given } = await claimOne()
      assert.deepEqual(
        given.map(({ type, id, result }) => [type, id, read(result)]),
        hostileNames.map((name) => [name, name, name]),
      )
    },
  },
]

const pairCases: readonly Case[] = [
  ...lookalikes.map(([one, two]): Case => ({
    name: `${JSON.stringify(brief(one))} and ${JSON.stringify(brief(two))} are distinct as ids, types, groups, keys and workers`,
    proves: ['S24', 'S6'],
    run: async ({ storage, added, job, claim, claimOne, unit }) => {
      for (const id of [one, two]) await added({ id, payload: bytes(id) })
      for (const type of [one, two]) await added({ type, id: 'same', payload: bytes(type) })
      for (const key of [one, two]) await added({ type: 'grouped', group: ordered(key) })
      for (const key of [one, two]) await added({ type: 'keyed', deduplication: { key, mode: 'simple' } })
      assert.equal((await addOne(storage, job({ id: two }))).verdict, 'duplicate')
      assert.deepEqual(
        (await claim()).map((each) => [each.id, read(each.payload)]),
        [
          [one, one],
          [two, two],
        ],
      )
      for (const type of [one, two])
        assert.equal(read((await claimOne({ types: [{ type, leaseMs: 10 * unit }] })).payload), type)
      assert.equal((await claim({ types: [{ type: 'grouped', leaseMs: 10 * unit }] })).length, 2)
      const lease = fenceOf(await claimOne({ worker: one, slots: 1, types: [{ type: 'keyed', leaseMs: 10 * unit }] }))
      const [verdict] = await storage.extend([{ ...lease, worker: two, leaseMs: 10 * unit }])
      assert.equal(verdict?.verdict, 'taken_by_another_worker')
    },
  })),
  {
    name: 'types and ids that are equal when joined are two jobs',
    proves: ['S24', 'trap 14'],
    run: async ({ storage, added, job }) => {
      for (const separator of separators) {
        const [left, right] = joined(separator)
        await added({ ...left, payload: bytes('left') })
        await added({ ...right, payload: bytes('right') })
        assert.equal(read((await recordOf(storage, left, 'payload')).payload), 'left')
        assert.equal((await addOne(storage, job(left))).verdict, 'duplicate')
        await storage.cancel([left])
        assert.deepEqual(await statesOf(storage, left, right), ['cancelled', 'queued'])
      }
    },
  },
  {
    name: 'types and keys, and types and groups, that are equal when joined are distinct',
    proves: ['S24', 'F25', 'F21'],
    run: async ({ added, claim, unit }) => {
      for (const separator of separators)
        for (const { type, id } of joined(separator)) {
          await added({ type, deduplication: { key: id, mode: 'simple' } })
          await added({ type, group: ordered(id) })
          assert.equal((await claim({ types: [{ type, leaseMs: 900 * unit }] })).length, 2)
        }
    },
  },
]

/** Two refs, (a + s + b, c) and (a, b + s + c), that are equal when joined by the separator s. */
function joined(separator: string): [JobRef, JobRef] {
  const [a, b, c] = ['a', `b${separators.indexOf(separator)}`, 'c']
  return [
    { type: `${a}${separator}${b}`, id: c },
    { type: a, id: `${b}${separator}${c}` },
  ]
}

function brief(name: string): string {
  return name.length > 20 ? `${name.slice(0, 3)}…${name.slice(-3)} (${name.length})` : name
}

export const hostileCases: readonly Case[] = [...idCases, ...typeCases, ...keyCases, ...pairCases, ...hostileByteCases]
