// admin.jobs: jobs one by one.

import { readable } from '../copy-option.ts'
import { operatorCancelOptions } from '../engine/operate/cancel.ts'
import { detailParts, jobDetails } from '../engine/operate/job-details.ts'
import type { NamedJob } from '../engine/operate/job-item.ts'
import type { Operations } from '../engine/operate/operations.ts'
import { newTimeOf, runNowOptions } from '../engine/operate/reschedule.ts'
import { removeResult, type RetryResult, retryResult } from '../engine/operate/results.ts'
import { checkText, listOf } from '../option-checks.ts'
import { resolveOptions } from '../resolve-options.ts'
import type { JobRef } from '../storage/storage.ts'
import { addJob } from './add-job.ts'
import type { AdminJobs } from './admin.ts'
import { adminQueryOptions, replayOptions, typeOf } from './options.ts'
import { replay } from './replay.ts'
import { typesOf } from './types-of.ts'

export function adminJobs(operations: Operations): AdminJobs {
  // Both signatures of retry, in one function.
  async function retry(job: NamedJob): Promise<RetryResult>
  async function retry(jobs: readonly NamedJob[]): Promise<RetryResult[]>
  async function retry(given: NamedJob | readonly NamedJob[]): Promise<RetryResult | RetryResult[]> {
    const isList = readable('jobs', () => Array.isArray(given))
    const refs = isList ? refsOf(given as readonly NamedJob[]) : [refOf(given as NamedJob)]
    const results = (await operations.retry(refs)).map(retryResult)
    return isList ? results : results[0]!
  }
  return {
    async list(query) {
      const resolved = resolveOptions('jobs.list', query, adminQueryOptions)
      return operations.list(resolved, await typesOf(operations, resolved))
    },
    async get(job) {
      const record = await operations.get(refOf(job), detailParts)
      return record ? jobDetails(record) : null
    },
    find: async (jobs) => operations.find(refsOf(jobs)),
    retry,
    async cancel(job, options) {
      const how = resolveOptions('jobs.cancel', options, operatorCancelOptions)
      const [answer] = await operations.cancel([refOf(job)], how)
      return { status: answer!.verdict }
    },
    async remove(job) {
      const [answer] = await operations.remove([refOf(job)])
      return removeResult(answer!)
    },
    async reschedule(job, options) {
      return operations.moveOne(refOf(job), newTimeOf('jobs.reschedule', options))
    },
    async runNow(job, options) {
      return operations.moveOne(refOf(job), resolveOptions('jobs.runNow', options, runNowOptions))
    },
    add: async (target, options) => addJob(operations, target, options),
    replay: async (job, options) =>
      replay(operations, refOf(job), resolveOptions('jobs.replay', options, replayOptions)),
    tree: async (job) => (await operations.tree(refOf(job))) ?? null,
  }
}

/** @throws TypeError INVALID_ARGUMENT */
export function refOf(job: NamedJob, where = 'job'): JobRef {
  const type = typeOf(where, job)
  const id = readable(where, () => job.id)
  checkText(`${where}.id`, id, 512)
  return { type, id }
}

/** @throws TypeError INVALID_ARGUMENT */
export const refsOf = (jobs: readonly NamedJob[]): JobRef[] =>
  (listOf('jobs', jobs) as NamedJob[]).map((job, index) => refOf(job, `jobs[${index}]`))
