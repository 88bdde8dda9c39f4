import assert from 'node:assert/strict'
import { systemClock } from 'holdfast/storage'
import type { ClaimRequest, NewJob } from 'holdfast/storage'
import type { CaseContext, Subject } from './case.ts'

export function caseContext(subject: Subject): CaseContext {
  const { storage } = subject
  const unit = subject.advance ? 1_000 : 50
  let made = 0
  const context: CaseContext = {
    storage,
    unit,
    advance: subject.advance ?? sleep,
    another: subject.another ?? (async () => storage),
    now: async () => (await storage.count({})).now,
    job: (fields) => {
      const number = ++made
      const job: NewJob = {
        type: 'mail',
        id: `job-${number}`,
        token: `token-${number}`,
        retention: { completedMs: 100 * unit, failedMs: 100 * unit, cancelledMs: 100 * unit },
        maxAttempts: 3,
        ...fields,
      }
      return job
    },
    added: async (fields) => {
      const job = context.job(fields)
      const [verdict] = await storage.add([job])
      assert.equal(verdict!.verdict, 'added')
      return job
    },
    claimRequest: (fields) => {
      const request: ClaimRequest = {
        worker: `worker-${++made}`,
        slots: 100,
        types: [{ type: 'mail', leaseMs: 10 * unit }],
        ...fields,
      }
      return request
    },
    claim: async (fields) => [...(await storage.claim(context.claimRequest(fields))).jobs],
    claimOne: async (fields) => {
      const jobs = await context.claim(fields)
      assert.equal(jobs.length, 1, `expected to claim one job, got ${jobs.length}`)
      return jobs[0]!
    },
    until: async (condition) => {
      for (let waited = 0; !condition(); waited += 5) {
        assert.ok(waited < 5_000, 'expected the condition to be true within 5 s')
        await sleep(5)
      }
    },
  }
  return context
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => systemClock.after(ms, resolve))
