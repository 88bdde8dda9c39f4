// Writes to some jobs: those that are given, at most a page.

import type { Admin, NamedJob } from 'holdfast'
import type { ActionResult } from '../../shared/api.ts'
import type { Call, Context } from '../route.ts'
import { flag, jobList, number, optionalText } from './body.ts'

type Change = (admin: Admin, job: NamedJob, body: Call['body']) => Promise<{ readonly status: string }>

/** @param done the status of a job that was changed */
function writeJobs(what: string, done: readonly string[], change: Change) {
  return async ({ handles, reads, audit }: Context, { actor, body }: Call): Promise<ActionResult> => {
    const jobs = jobList(body)
    const admin = handles.of(actor)
    const results: (NamedJob & { status: string })[] = []
    try {
      for (const job of jobs) results.push({ ...job, status: (await change(admin, job, body)).status })
    } finally {
      reads.clear()
      const count = results.filter(({ status }) => done.includes(status)).length
      audit.wrote(actor, `${what} ${count} of ${jobs.length} ${jobs.length === 1 ? 'job' : 'jobs'}`, {
        action: what,
        count,
        of: jobs.length,
        jobs: jobs.slice(0, 10),
      })
    }
    return { results }
  }
}

export const retryJobs = writeJobs('retried', ['retried'], (admin, job) => admin.jobs.retry(job))
export const runJobsNow = writeJobs('moved', ['rescheduled'], (admin, job) => admin.jobs.runNow(job))
/** `runAt`: epoch ms. One in the past is due at once. */
export const rescheduleJobs = writeJobs('moved', ['rescheduled'], (admin, job, body) =>
  admin.jobs.reschedule(job, { runAt: number(body, 'runAt') }),
)
export const removeJobs = writeJobs('removed', ['removed'], (admin, job) => admin.jobs.remove(job))
export const cancelJobs = writeJobs('cancelled', ['cancelled', 'cancelling'], (admin, job, body) =>
  admin.jobs.cancel(job, { abort: flag(body, 'abort'), reason: optionalText(body, 'reason') }),
)
