// The statements of the calls that a worker with one slot makes for each job.

import assert from 'node:assert/strict'
import { StatementSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'
import type { Outcome } from 'holdfast/storage'
import { bench, completed, newJob, types } from './bench.ts'

/** The statements that run from now on. */
function watch(t: TestContext): string[] {
  const ran: string[] = []
  for (const name of ['get', 'all', 'run'] as const) {
    const original = StatementSync.prototype[name] as (...args: unknown[]) => unknown
    t.mock.method(StatementSync.prototype, name, function (this: StatementSync, ...args: unknown[]) {
      ran.push(this.sourceSQL)
      return original.apply(this, args)
    })
  }
  return ran
}

test('a claim that ends a job and leases the next takes five statements in its transaction, a single add three', async (t) => {
  const storage = await bench(t).open({ durability: 'relaxed' })
  await storage.add(Array.from({ length: 10 }, (_, n) => newJob(`job-${n}`)))
  const ran = watch(t)
  let outcomes: Outcome[] = []
  for (let round = 0; round < 3; round++) {
    ran.length = 0
    const { jobs } = await storage.claim({ worker: `w/${round}`, slots: 1, outcomes, types })
    outcomes = jobs.map(completed)
  }
  assert.equal(ran.length, 7, ran.join('\n'))
  assert.deepEqual([ran[0], ran.at(-1)], ['BEGIN IMMEDIATE', 'COMMIT'])

  for (const id of ['a', 'b']) {
    ran.length = 0
    await storage.add([newJob(id)])
  }
  // The version, the row, the counts: the index of ids tells whether the id is taken.
  assert.equal(ran.length, 5, ran.join('\n'))
})
