// A list of due jobs in the order of claims: those that were read, and those that arrived in this call.

import type { PostgresJob } from './job.ts'

export class WaitingJobs {
  readonly #jobs: readonly PostgresJob[]
  readonly #isComplete: boolean
  readonly #isClaimable: (job: PostgresJob) => boolean
  readonly #readMore: () => never
  #at = 0

  constructor(
    { jobs, isComplete }: { readonly jobs: readonly PostgresJob[]; readonly isComplete: boolean },
    isClaimable: (job: PostgresJob) => boolean,
    readMore: () => never,
  ) {
    this.#jobs = jobs
    this.#isComplete = isComplete
    this.#isClaimable = isClaimable
    this.#readMore = readMore
  }

  /** @param arrived jobs that came into the list in this call; those that have left it again are deleted */
  first(now: number, arrived: Set<PostgresJob> | undefined): PostgresJob | undefined {
    const jobs = this.#jobs
    while (this.#at < jobs.length && (arrived?.has(jobs[this.#at]!) || !this.#isClaimable(jobs[this.#at]!))) this.#at++
    let first = jobs[this.#at]
    // All jobs that were read are taken: jobs that were not read may come before those that arrived.
    if (!first && !this.#isComplete) return this.#readMore()
    for (const job of arrived ?? []) {
      if (!this.#isClaimable(job)) arrived!.delete(job)
      else if (job.runAt <= now && (!first || isBefore(job, first))) first = job
    }
    return first
  }
}

function isBefore(a: PostgresJob, b: PostgresJob): boolean {
  if (a.priority !== b.priority) return a.priority > b.priority
  return a.runAt === b.runAt ? a.order < b.order : a.runAt < b.runAt
}
