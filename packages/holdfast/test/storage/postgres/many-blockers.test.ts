// What a job with many blockers, or a chain with many dependents, costs: as many statements with 1,000 of them as with 10.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sized } from '../../full-size.ts'
import { postgresPlace, stopPostgres } from '../../postgres-subject.ts'
import type { ClaimedJob, ClaimRequest, NewJob, Outcome } from '../../../src/storage/storage.ts'
import { countedStorage, type CountedStorage } from './counted-storage.ts'

after(stopPostgres)

const kept = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }
const part = (index: number) => ({ type: 'part', id: `${index}` })
const many = { type: 'many', id: 'job' }
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index)
const parts = (count: number): NewJob[] =>
  numbers(count).map((index) => ({ ...part(index), token: 'parts', retention: kept }))
/** A job behind chains that exist. */
const behind = (count: number, id = 'job'): NewJob => {
  return { type: 'many', id, token: id, retention: kept, blockers: numbers(count).map(part) }
}
/** A job with the chains that are started to block it. */
const withParts = (count: number, fields: (index: number) => Partial<NewJob> = () => ({})): NewJob[] => [
  { ...many, token: 'token', retention: kept, blockers: numbers(count).map((index) => index + 1) },
  ...numbers(count).map((index) => ({ ...part(index), token: 'token', retention: kept, ...fields(index) })),
]

const withKeyAndGroup = (index: number): Partial<NewJob> => {
  return { deduplication: { key: `k${index}`, mode: 'simple' }, group: { key: `g${index}` } }
}
/** The continuation of a part. */
const nextOf = (id: string): NewJob => ({ type: 'next', id, token: id, retention: kept })

const request = (types: readonly string[], slots: number, outcomes: readonly Outcome[] = []): ClaimRequest => {
  return { worker: 'w', slots, types: types.map((type) => ({ type, leaseMs: 1_000, maxAttempts: 1 })), outcomes }
}
const completed = ({ type, id, worker, attempt }: ClaimedJob): Outcome => {
  return { type, id, worker, attempt, kind: 'completed', result: Buffer.from(id) }
}

interface Bench extends CountedStorage {
  claimed(types: readonly string[], slots: number, outcomes?: readonly Outcome[]): Promise<readonly ClaimedJob[]>
  advance(ms: number): Promise<void>
}

/** Makes ready what the counted call needs. @returns that call */
type Case = (bench: Bench, count: number) => Promise<() => Promise<void>>

const cases: Record<string, Case> = {
  'an add with chains to start':
    async ({ storage }, count) =>
    async () => {
      const verdicts = await storage.add(withParts(count))
      assert.ok(verdicts.length === count + 1 && verdicts.every(({ verdict }) => verdict === 'added'))
    },
  'an add behind chains that have dependents': async ({ storage }, count) => {
    await storage.add(parts(count))
    await storage.add([behind(count, 'first')])
    return async () => {
      const [verdict] = await storage.add([behind(count)])
      assert.equal(verdict!.verdict === 'added' && verdict!.job.state, 'blocked')
    }
  },
  'the cancellation of the job': async ({ storage }, count) => {
    await storage.add(parts(count))
    await storage.add([behind(count)])
    return async () => assert.deepEqual(await storage.cancel([many]), [{ verdict: 'cancelled' }])
  },
  'the ends of all blockers, with the claim of the job': async ({ storage, claimed }, count) => {
    await storage.add(withParts(count))
    const ends = (await claimed(['part'], 1_000)).map(completed)
    assert.equal(ends.length, count)
    return async () => {
      const [job] = await claimed(['part', 'many'], 1_000, ends)
      assert.deepEqual(
        job!.blockers,
        numbers(count).map((index) => ({ ...part(index), result: Buffer.from(`${index}`) })),
      )
    }
  },
  'the end of the last blocker, with the claim of the job': async ({ storage, claimed }, count) => {
    await storage.add(withParts(count))
    const ends = (await claimed(['part'], 1_000)).map(completed)
    await storage.settle(ends.slice(1))
    return async () => {
      const [job] = await claimed(['part', 'many'], 1_000, ends.slice(0, 1))
      assert.equal(job!.blockers.filter(({ result }) => result).length, count)
    }
  },
  'the end of the job': async ({ storage, claimed }, count) => {
    await storage.add(withParts(count))
    const [job] = await claimed(['part', 'many'], 1_000, (await claimed(['part'], 1_000)).map(completed))
    return async () => assert.equal((await storage.settle([completed(job!)]))[0]!.verdict, 'settled')
  },
  'the end of the job by a claim that finds its lease lost': async ({ storage, claimed, advance }, count) => {
    await storage.add(withParts(count))
    const [job] = await claimed(['part', 'many'], 1_000, (await claimed(['part'], 1_000)).map(completed))
    assert.equal(job!.id, 'job')
    await advance(2_000)
    return async () => {
      const { ended } = await storage.claim(request(['many'], 1))
      assert.deepEqual(
        ended.map(({ id, reason }) => [id, reason]),
        [['job', 'stalled']],
      )
    }
  },
  'the deletion of the job with its chains': async ({ storage }, count) => {
    await storage.add(withParts(count))
    return async () => assert.deepEqual(await storage.remove([many], { trees: true }), [{ verdict: 'removed' }])
  },
  'the deletion with chains of two jobs, keys and groups': async ({ storage, claimed }, count) => {
    await storage.add(withParts(count, withKeyAndGroup))
    const running = await claimed(['part'], 1_000)
    assert.equal(running.length, count)
    const ends = running.map(({ type, id, worker, attempt }): Outcome => {
      return { type, id, worker, attempt, kind: 'continued', next: nextOf(id), add: [] }
    })
    assert.ok((await storage.settle(ends)).every(({ verdict }) => verdict === 'settled'))
    return async () => {
      assert.deepEqual(await storage.remove([many], { trees: true }), [{ verdict: 'removed' }])
      assert.deepEqual(await storage.get([part(0), { type: 'next', id: '0' }]), [undefined, undefined])
    }
  },
  'the deletion with chains that are behind chains': async ({ storage }, count) => {
    const [job, ...middle] = withParts(count)
    const last = numbers(count).map((index): NewJob => {
      return { type: 'next', id: `${index}`, token: 'token', retention: kept }
    })
    const linked = middle.map((fields, index) => ({ ...fields, blockers: [1 + count + index] }))
    await storage.add([job!, ...linked, ...last])
    return async () => {
      assert.deepEqual(await storage.remove([many], { trees: true }), [{ verdict: 'removed' }])
      assert.deepEqual(await storage.get([part(0), { type: 'next', id: '0' }]), [undefined, undefined])
    }
  },
  'the failure of a chain with as many dependents, by a claim that finds its lease lost': async (bench, count) => {
    const { storage, claimed, advance } = bench
    await storage.add(parts(1))
    await storage.add(numbers(count).map((index) => behind(1, `${index}`)))
    await claimed(['part'], 1)
    await advance(2_000)
    return async () => assert.equal((await storage.claim(request(['part'], 1))).ended.length, count + 1)
  },
}

/** On a clock that is set by hand. */
async function open(name: string): Promise<Bench> {
  const place = await postgresPlace()
  await place.pool.query('INSERT INTO clocks VALUES ($1, $2)', [name, 1_767_225_600_000])
  const counted = await countedStorage({}, `(SELECT at FROM public.clocks WHERE name = '${name}')`)
  // The types have their numbers, and the statements their plans, before anything is counted.
  await counted.storage.add(['part', 'many', 'next'].map((type) => ({ type, id: '', token: '', retention: kept })))
  await counted.storage.remove(
    ['part', 'many', 'next'].map((type) => ({ type, id: '' })),
    { trees: true },
  )
  return {
    ...counted,
    claimed: async (types, slots, outcomes) => {
      const jobs = []
      // A claim takes at most so many at once.
      for (let left = slots, given = outcomes; left > 0; given = undefined) {
        const more = (await counted.storage.claim(request(types, left, given))).jobs
        jobs.push(...more)
        left = more.length === 0 ? 0 : left - more.length
      }
      return jobs
    },
    advance: async (ms) => void (await place.pool.query('UPDATE clocks SET at = at + $2 WHERE name = $1', [name, ms])),
  }
}

const most = sized(1_000, 300)

for (const [name, prepare] of Object.entries(cases)) {
  test(`${name}: as many statements for ${most} as for 10`, async (t) => {
    const counts = []
    for (const size of [10, most]) {
      const bench = await open(`${name} ${size}`)
      const work = await prepare(bench, size)
      counts.push(await bench.count(work))
      await bench.close()
    }
    t.diagnostic(`${counts[0]} statements`)
    assert.ok(counts[0]! > 0)
    assert.equal(counts[1], counts[0])
  })
}
