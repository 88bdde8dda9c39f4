// Refusals of an add in the reference: too many waiting jobs, or a group of the other kind.

import type { NewJob } from 'holdfast/storage'
import { isWaiting, type Job, type World } from '../reference.ts'
import { countWaiting, membersOf } from './limits.ts'

export type Refusal =
  | { verdict: 'queue_full'; of: 'type' | 'group'; waiting: number }
  | { verdict: 'group_kind'; ordered: boolean }

const isOrdered = ({ group }: NewJob): boolean => group?.ordered === true

/** The refusal of jobs that are added together: each counts as if it were no duplicate. */
export function refusalIn(world: World, jobs: readonly NewJob[]): Refusal | undefined {
  const alike = ({ type, group }: NewJob): NewJob[] =>
    jobs.filter((other) => other.type === type && group !== undefined && other.group?.key === group.key)
  for (const [index, job] of jobs.entries()) {
    const before = alike(job).find((other) => jobs.indexOf(other) < index)
    const refusal = otherKind(world, job, undefined, before)
    if (refusal) return refusal
  }
  for (const job of jobs) {
    const ofType = jobs.filter(({ type }) => type === job.type).length
    const refusal = tooMany(world, job, ofType, alike(job).length)
    if (refusal) return refusal
  }
  return undefined
}

export const isRefused = (world: World, jobs: readonly NewJob[]): boolean => refusalIn(world, jobs) !== undefined

/** The refusal of one job that would be added. @param replaced the job of its id, which gives way */
export function refusalOf(world: World, job: NewJob, replaced: Job | undefined): Refusal | undefined {
  const freed = replaced && isWaiting(replaced) ? replaced : undefined
  const isInGroup = freed !== undefined && job.group !== undefined && freed.made.group?.key === job.group.key
  return otherKind(world, job, freed) ?? tooMany(world, job, freed ? 0 : 1, isInGroup ? 0 : 1)
}

function otherKind(world: World, job: NewJob, leaving: Job | undefined, sibling?: NewJob): Refusal | undefined {
  if (!job.group) return undefined
  const [member] = membersOf(world, job.type, job.group.key).filter((other) => other !== leaving)
  const other = member?.made ?? sibling
  return other && isOrdered(other) !== isOrdered(job) ? { verdict: 'group_kind', ordered: isOrdered(other) } : undefined
}

function tooMany(
  world: World,
  { type, group, maxWaiting }: NewJob,
  ofType: number,
  ofGroup: number,
): Refusal | undefined {
  const waiting = countWaiting(world, type)
  if (waiting + ofType > (maxWaiting?.type ?? Infinity)) return { verdict: 'queue_full', of: 'type', waiting }
  if (!group) return undefined
  const inGroup = countWaiting(world, type, group.key)
  if (inGroup + ofGroup > (maxWaiting?.group ?? Infinity))
    return { verdict: 'queue_full', of: 'group', waiting: inGroup }
  return undefined
}
