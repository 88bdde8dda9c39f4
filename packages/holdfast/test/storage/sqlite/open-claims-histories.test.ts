// Random calls with plain jobs, by turns through two storages on one file, so that claims are open that the other one has made. Each call
// gets the answer of a memory storage, which has no open claims.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { MemoryStorage } from 'holdfast'
import type { ClaimedJob, JobState, Outcome, Storage } from 'holdfast/storage'
import { systemClock } from '../../../src/clock.ts'
import { defaultType } from '../../../src/storage/stored-type.ts'
import { modelSeed, sized } from '../../full-size.ts'
import { randomOf } from '../../fuzz/mutate.ts'
import { bench, completed, newJob } from './bench.ts'
import { checkTables } from './check-tables.ts'

const type = defaultType
const types = [{ type, leaseMs: 2_000 }]
const start = 1_767_225_600_000

const rounds = sized(40, 4)
/** Over all steps of all rounds. */
let claimsSeen = 0
after(() => assert.ok(claimsSeen > 30 * rounds, `${claimsSeen} open claims were seen: too few to show anything`))

for (let round = 0; round < rounds; round++) {
  const seed = (modelSeed.seed ?? (Date.now() % 1_000_000) + 1) + round
  test(`plain jobs and open claims of two storages answer as in memory (seed ${seed})`, async (t) => {
    const { below: random, pick } = randomOf(seed)
    let now = start
    const clock = { ...systemClock, now: () => now }
    const { open, look } = bench(t)
    const [one, other, model] = [await open({ clock }), await open({ clock }), new MemoryStorage({ clock })]
    const db = look()
    const both = async <Answer>(call: (storage: Storage) => Promise<Answer>): Promise<Answer> => {
      const answer = await call(pick<Storage>([one, other]))
      assert.deepEqual(answer, await call(model))
      return answer
    }
    let [added, claims] = [0, 0]
    let held: ClaimedJob[] = []
    const some = <Item>(items: readonly Item[]): Item[] => items.filter(() => random(3) === 0)
    const outcomes = (): Outcome[] => {
      const ending = some(held)
      held = held.filter((job) => !ending.includes(job))
      return ending.map((job): Outcome => {
        const fence = completed(job)
        if (random(6) === 0) return { ...fence, kind: 'released' } as Outcome
        if (random(9) === 0) return { ...fence, kind: 'retry', delayMs: random(200) } as Outcome
        return fence
      })
    }
    const anyIds = (): { type: string; id: string }[] =>
      Array.from({ length: 1 + random(5) }, () => ({ type, id: `job-${random(added + 1)}` }))
    const steps: (() => Promise<unknown>)[] = [
      async () => {
        const jobs = Array.from({ length: 1 + random(20) }, () =>
          newJob(`job-${random(8) === 0 ? random(added + 1) : added++}`, {
            priority: random(60) === 0 ? 5 : 0,
            ...(random(20) === 0 && { delayMs: random(300) }),
          }),
        )
        await both(async (storage) => (await storage.add(jobs)).map(({ verdict }) => verdict))
      },
      async () => {
        const request = {
          worker: `w/${claims++}`,
          slots: 1 + random(random(2) === 0 ? 3 : 40),
          types,
          outcomes: outcomes(),
        }
        const claimed = await both(async (storage) => {
          const { jobs, settled, recovered } = await storage.claim(request)
          return {
            jobs,
            settled: settled.map(({ verdict }) => verdict),
            recovered: recovered.map(({ id }) => id).toSorted(),
          }
        })
        held.push(...claimed.jobs)
      },
      async () => {
        const settling = outcomes()
        await both(async (storage) => (await storage.settle(settling)).map(({ verdict }) => verdict))
      },
      async () => {
        const extensions = some(held).map(({ id, worker, attempt }) => ({ type, id, worker, attempt, leaseMs: 3_000 }))
        if (extensions.length === 0) return
        await both(async (storage) => (await storage.extend(extensions)).map(({ verdict }) => verdict))
      },
      async () => {
        const ids = anyIds()
        const options = { force: random(2) === 0 }
        await both(async (storage) => (await storage.cancel(ids, options)).map(({ verdict }) => verdict))
      },
      async () => void (now += random(250)),
    ]
    for (let step = 0; step < 250; step++) {
      await pick(steps)()
      const refs = anyIds()
      await both(async (storage) =>
        (await storage.get(refs)).map((job) => job && [job.state, job.worker, job.attempt, job.leaseUntil]),
      )
      await both(async (storage) => {
        const [counts] = (await storage.count({})).types
        return counts && { ...counts }
      })
      if (random(8) === 0) await both((storage) => storage.nextDueAt(types))
      if (random(20) === 0) {
        const query = {
          of: 'jobs',
          states: [pick<JobState>(['processing', 'queued'])],
          order: 'asc',
          limit: 10,
        } as const
        await both(async (storage) => (await storage.list(query)).items.map((item) => item.id))
      }
      checkTables(db)
      claimsSeen += db.prepare('SELECT count(*) AS number FROM holdfast_claims WHERE cid > 0').get()!.number as number
    }
  })
}
