// transaction: its moves take effect together at the commit or not at all, and a refused call does not abort it.

import assert from 'node:assert/strict'
import type { CaseContext } from '../case.ts'
import { bytes, text, type Case } from '../case.ts'
import { complete } from '../outcomes.ts'
import { fenceOf, recordOf, refOf, statesOf } from '../records.ts'

const needs = ['transactions'] as const
const refused = new Error('rolled back on purpose')

/** Runs the function in a transaction and rolls it back. */
async function rolledBack({ storage }: CaseContext, run: (tx: unknown) => Promise<void>): Promise<void> {
  const taken = storage.transaction!(async (tx) => {
    await run(tx)
    throw refused
  })
  await assert.rejects(taken, refused)
}

const refusalCases: readonly Case[] = [
  {
    name: 'a refused item does not abort the transaction: what follows is committed',
    needs,
    proves: ['chains trap 20'],
    run: async ({ storage, added, job, claimOne }) => {
      const taken = await added({ deduplication: { key: 'k', mode: 'simple' } })
      const stale = await claimOne()
      await complete(storage, stale, 'done')
      const held = await added({ deduplication: { key: 'held', mode: 'simple' } })
      const unknownJob = { type: 'mail', id: 'unknown' }
      const refusals: ((tx: unknown) => Promise<readonly { verdict: string }[]>)[] = [
        (tx) => storage.add([job({ id: taken.id })], tx),
        (tx) => storage.add([job({ deduplication: { key: 'held', mode: 'simple' } })], tx),
        (tx) => storage.add([job({ blockers: [unknownJob] })], tx),
        (tx) => storage.settle([{ ...fenceOf(stale), attempt: 7, kind: 'completed' }], tx),
        (tx) => storage.settle([{ ...unknownJob, chain: unknownJob, token: 'by hand', kind: 'completed' }], tx),
        (tx) => storage.settle([{ ...refOf(taken), chain: refOf(taken), token: 'by hand', kind: 'completed' }], tx),
        (tx) => storage.revive([unknownJob, refOf(taken)], { tx }),
        (tx) => storage.remove([unknownJob], { trees: true, tx }),
        (tx) => storage.remove([refOf(held)], { tx }),
      ]
      for (const refusal of refusals) {
        const before = job()
        const after = job()
        await storage.transaction!(async (tx) => {
          await storage.add([before], tx)
          for (const { verdict } of await refusal(tx)) {
            assert.ok(!['added', 'settled', 'revived', 'moved', 'removed'].includes(verdict), verdict)
          }
          await storage.add([after], tx)
        })
        assert.deepEqual(await statesOf(storage, before, after), ['queued', 'queued'])
      }
      assert.equal(text((await recordOf(storage, taken, 'result')).result), 'done')
    },
  },
  {
    name: 'a call that is refused as invalid does not abort the transaction',
    needs,
    proves: ['chains trap 20'],
    run: async ({ storage, job }) => {
      const good = job()
      await storage.transaction!(async (tx) => {
        await assert.rejects(storage.add([job({ priority: 1_000 })], tx), { code: 'INVALID_ARGUMENT' })
        await storage.add([good], tx)
      })
      assert.deepEqual(await statesOf(storage, good), ['queued'])
    },
  },
]

const togetherCases: readonly Case[] = [
  {
    name: 'jobs, their blockers and their keys appear with the commit or not at all',
    needs,
    proves: ['chains trap 20', 'chains trap 3'],
    run: async (context) => {
      const { storage, job } = context
      const deduplication = { key: 'k', mode: 'simple' } as const
      const make = (): [ReturnType<typeof job>, ReturnType<typeof job>] => {
        const dependent = job({ deduplication, blockers: [1] })
        return [dependent, job({ token: dependent.token })]
      }
      const never = make()
      await rolledBack(context, async (tx) => {
        await storage.add(never, tx)
        const [first] = await storage.get([refOf(never[0])], { tx })
        assert.equal(first?.state, 'blocked')
      })
      assert.deepEqual(await statesOf(storage, ...never), [undefined, undefined])
      const jobs = make()
      await storage.transaction!(async (tx) => {
        const [verdict] = await storage.add(jobs, tx)
        assert.equal(verdict!.verdict, 'added')
      })
      assert.deepEqual(await statesOf(storage, ...jobs), ['blocked', 'queued'])
      const [again] = await storage.add([job({ deduplication })])
      assert.equal(again!.verdict, 'duplicate')
    },
  },
  {
    name: 'a settle commits with its continuation and the dependents it unblocks, or leaves the lease as it was',
    needs,
    proves: ['chains trap 21', 'chains trap 11'],
    run: async (context) => {
      const { storage, added, job, claimOne } = context
      const chain = await added()
      const dependent = await added({ type: 'post', blockers: [refOf(chain)] })
      const lease = fenceOf(await claimOne())
      const next = job({ type: 'next' })
      await rolledBack(context, async (tx) => {
        const [verdict] = await storage.settle([{ ...lease, kind: 'continued', next }], tx)
        assert.equal(verdict!.verdict, 'settled')
      })
      await rolledBack(context, async (tx) => {
        await storage.settle([{ ...lease, kind: 'completed', result: bytes('never') }], tx)
      })
      assert.deepEqual(await statesOf(storage, chain, dependent, next), ['processing', 'blocked', undefined])
      await storage.transaction!(async (tx) => {
        await storage.settle([{ ...lease, kind: 'continued', next }], tx)
      })
      assert.deepEqual(await statesOf(storage, chain, dependent, next), ['completed', 'blocked', 'queued'])
      const tail = fenceOf(await claimOne({ types: [{ type: 'next', leaseMs: 60_000 }] }))
      await storage.transaction!(async (tx) => {
        const [verdict] = await storage.settle([{ ...tail, kind: 'completed', result: bytes('end') }], tx)
        assert.deepEqual(verdict!.verdict === 'settled' && [...verdict!.unblocked], [refOf(dependent)])
      })
      assert.deepEqual(await statesOf(storage, dependent), ['queued'])
    },
  },
  {
    name: 'a locked record is read in its current state and can be settled in the transaction',
    needs,
    run: async ({ storage, added, claimOne }) => {
      const chain = await added()
      const lease = fenceOf(await claimOne())
      await storage.transaction!(async (tx) => {
        const [record] = await storage.get([refOf(chain)], { lock: true, tx })
        assert.deepEqual([record!.state, record!.worker, record!.attempt], ['processing', lease.worker, lease.attempt])
        assert.deepEqual(await storage.get([{ type: 'mail', id: 'unknown' }], { lock: true, tx }), [undefined])
        const [verdict] = await storage.settle([{ ...lease, kind: 'completed' }], tx)
        assert.equal(verdict!.verdict, 'settled')
      })
      assert.deepEqual(await statesOf(storage, chain), ['completed'])
    },
  },
  {
    name: 'a settle repeated after its commit gets the first answer, whatever the second outcome says',
    needs,
    run: async ({ storage, added, claimOne }) => {
      const chain = await added()
      const lease = fenceOf(await claimOne())
      await storage.transaction!(async (tx) => {
        await storage.settle([{ ...lease, kind: 'completed', result: bytes('first') }], tx)
      })
      // As a worker does when the reply to its commit was lost.
      const [again] = await storage.settle([{ ...lease, kind: 'retry', error: bytes('unknown commit') }])
      assert.deepEqual([again!.verdict, 'state' in again! && again.state], ['settled', 'completed'])
      const record = await recordOf(storage, chain, 'result')
      assert.deepEqual([record.state, record.failures, text(record.result)], ['completed', 0, 'first'])
    },
  },
  {
    name: 'a transaction returns the result of its function, and hints leave after the commit',
    needs,
    run: async ({ storage, job, until }) => {
      const said: string[] = []
      const unlisten = await storage.listen([{ kind: 'wake', type: 'mail' }], () => said.push('wake'))
      const answer = await storage.transaction!(async (tx) => {
        await storage.add([job()], tx)
        said.push('end')
        return 5
      })
      await until(() => said.includes('wake'))
      assert.deepEqual([answer, said[0]], [5, 'end'])
      await unlisten()
    },
  },
]

const apartCases: readonly Case[] = [
  {
    name: 'dependents of one chain end in concurrent transactions while others are added to it',
    needs,
    proves: ['chains trap 1', 'chains §3.3'],
    run: async ({ storage, added, job, claim }) => {
      // A storage with a single writer has no concurrent transactions.
      if (storage.settings.exclusiveTransactions) return
      const shared = await added({ type: 'shared' })
      for (let count = 0; count < 2; count++) await added({ blockers: [refOf(shared)] })
      const [held] = await claim({ types: [{ type: 'shared', leaseMs: 60_000 }] })
      await complete(storage, held!)
      const leases = await claim()
      const locked = leases.map(() => Promise.withResolvers<void>())
      const ending = Promise.withResolvers<void>()
      const ends = leases.map((lease, index) =>
        storage.transaction!(async (tx) => {
          await storage.get([refOf(lease)], { lock: true, tx })
          locked[index]!.resolve()
          await ending.promise
          const [settled] = await storage.settle([{ ...fenceOf(lease), kind: 'completed' }], tx)
          return settled!.verdict
        }),
      )
      for (const end of ends) end.catch((error) => locked.forEach(({ reject }) => reject(error)))
      await Promise.all(locked.map(({ promise }) => promise))
      const late = job({ blockers: [refOf(shared)] })
      await storage.add([late])
      ending.resolve()
      assert.deepEqual(await Promise.all(ends), ['settled', 'settled'])
      assert.deepEqual(await statesOf(storage, late), ['queued'])
    },
  },
]

export const transactionCases: readonly Case[] = [...refusalCases, ...togetherCases, ...apartCases]
