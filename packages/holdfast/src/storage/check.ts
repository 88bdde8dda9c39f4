// The checks that every driver runs before it reads or writes: each refuses values outside the contract.

import { invalidArgument, unsupported } from '../errors.ts'
import type { ListQuery, NewJob, Outcome } from './storage.ts'

/** @throws TypeError INVALID_ARGUMENT, HoldfastError FEATURE_UNSUPPORTED */
export function checkNewJobs(driver: string, jobs: readonly NewJob[]): void {
  for (let index = 0; index < jobs.length; index++) {
    const job = jobs[index]!
    if (job.priority !== undefined) checkPriority(job.priority)
    if (job.group && job.group.ordered !== true) throw unsupported(driver, 'groups that are not ordered')
    if (job.deduplication) checkDeduplication(driver, job.deduplication)
    if (job.blockers) checkPositions(jobs, index)
  }
}

/** Checks the jobs that outcomes add, and their kinds. @throws TypeError INVALID_ARGUMENT, HoldfastError FEATURE_UNSUPPORTED */
export function checkOutcomes(driver: string, outcomes: readonly Outcome[]): void {
  for (const outcome of outcomes) {
    const next = outcome.kind === 'continued' ? outcome.next : undefined
    const add = 'add' in outcome ? outcome.add : undefined
    if (next ?? add) checkNewJobs(driver, outcomeJobs(outcome))
    if ('chain' in outcome && (outcome.kind === 'retry' || outcome.kind === 'released')) {
      throw invalidArgument('outcome.kind', "'completed', 'failed' or 'continued' without a worker", outcome.kind)
    }
  }
}

const none: readonly NewJob[] = []

/** The jobs that an outcome adds, as one batch: `next`, then `add`. */
export function outcomeJobs(outcome: Outcome): readonly NewJob[] {
  const add = ('add' in outcome && outcome.add) || none
  return outcome.kind === 'continued' ? [outcome.next, ...add] : add
}

/** @throws TypeError INVALID_ARGUMENT */
export function checkListQuery(query: ListQuery): void {
  if (query.of !== 'jobs' && query.of !== 'chains') throw invalidArgument('list: of', "'jobs' or 'chains'", query.of)
  if (!Number.isInteger(query.limit) || query.limit < 1 || query.limit > 1000) {
    throw invalidArgument('list: limit', 'an integer 1 … 1000', query.limit)
  }
}

function checkPriority(priority: number): void {
  if (!Number.isInteger(priority) || priority < -100 || priority > 100) {
    throw invalidArgument('priority', 'an integer -100 … 100', priority)
  }
}

function checkDeduplication(driver: string, { mode, windowMs, shared }: NonNullable<NewJob['deduplication']>): void {
  if (mode !== 'simple' && mode !== 'throttle') throw unsupported(driver, `the deduplication mode '${String(mode)}'`)
  if (shared && (mode !== 'throttle' || windowMs === undefined)) {
    throw invalidArgument('deduplication.shared', 'mode throttle with a window', mode)
  }
}

function checkPositions(jobs: readonly NewJob[], index: number): void {
  for (const blocker of jobs[index]!.blockers!) {
    if (typeof blocker !== 'number') continue
    if (!(blocker > index) || jobs[blocker]?.token !== jobs[index]!.token) {
      throw invalidArgument('blockers', 'the position of a later job with the same token', blocker)
    }
  }
}
