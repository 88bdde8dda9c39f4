import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import type { Subject } from '../../../../conformance/src/index.ts'
import type { NextStart } from 'holdfast/storage'
import { ModelViolation, testModel } from '../../../../conformance/src/model/model.ts'
import { explain } from '../../../src/engine/explain/explain.ts'
import type { ReasonCode } from '../../../src/engine/explain/explanation.ts'
import { type Facts, readFacts } from '../../../src/engine/explain/facts.ts'
import { drivers } from '../../drivers.ts'
import { modelSeed, sizeOf } from '../../full-size.ts'
import { stopPostgres } from '../../postgres-subject.ts'
import { stopPlaces } from '../../redis-places.ts'
import { type Compared, lawful, nothingCompared } from './law.ts'

after(stopPlaces)
after(stopPostgres)

/** Codes that no random history shows: workers are not asked for, and every listed job is known. */
const absent: readonly ReasonCode[] = ['not_found', 'no_worker', 'workers_full']

const histories = { memory: 2_000, sqlite: 100, file: 100, redis: 100, postgres: 100 } as const
const ordinary = { memory: 150, postgres: 5, else: 10 }

for (const [driver, full] of Object.entries(histories)) {
  const runs = sizeOf(full, driver, ordinary)
  test(`[F32] explain and claim never disagree, in ${runs} histories on ${driver}`, async (context) => {
    const compared = nothingCompared()
    await testModel({ create: watched(driver, compared), runs, ...modelSeed })
    report(context, compared)
    assert.ok(compared.ready > 0 && compared.started > 0)
    for (const code of absent) assert.equal(compared.codes.get(code), undefined)
  })
}

const watched = (driver: string, compared: Compared, explainJob?: Parameters<typeof lawful>[2]) => async () => {
  const subject: Subject = await drivers[driver]!()
  return { ...subject, storage: lawful(subject.storage, compared, explainJob) }
}

function report(context: TestContext, { ready, started, codes }: Compared): void {
  const counts = [...codes].map(([code, count]) => `${code} ${count}`).join(', ')
  context.diagnostic(`${ready} ready jobs and ${started} started ones compared; ${counts}`)
}

/** What an explain with a defect takes the facts for. */
const defects: Readonly<Record<string, (facts: Facts) => Facts>> = {
  'forgets the concurrency': (facts) => ({ ...facts, limits: { ...facts.limits, concurrency: Infinity } }),
  'forgets pauses': (facts) => withNext(facts, without('paused')),
  'forgets lost leases': (facts) => withNext(facts, without('leaseEnd')),
  'forgets turns': (facts) => withNext(facts, (next) => ({ ...next, turn: turnOf(facts) })),
  'takes every rate for full': (facts) =>
    withNext(facts, (next) => ({ ...next, freesAt: next.freesAt ?? facts.now + 1 })),
}

const without =
  (key: keyof NextStart) =>
  (next: NextStart): NextStart =>
    Object.fromEntries(Object.entries(next).filter(([name]) => name !== key)) as unknown as NextStart

const withNext = (facts: Facts, change: (next: NextStart) => NextStart): Facts =>
  facts.next ? { ...facts, next: change(facts.next) } : facts

const turnOf = ({ record }: Facts) => (record?.group === undefined ? {} : { group: record.group })

for (const [name, change] of Object.entries(defects)) {
  test(`[F32] an explain that ${name} is found by the law`, async () => {
    const create = watched('memory', nothingCompared(), async (storage, ref, options) =>
      explain(change(await readFacts(storage, ref, options))),
    )
    await assert.rejects(testModel({ create, runs: 1_000, shrink: false, seed: 1 }), (error) => {
      assert.ok(error instanceof ModelViolation)
      assert.match(error.message, /is ready, but the claim passed it over|was started, but/)
      return true
    })
  })
}
