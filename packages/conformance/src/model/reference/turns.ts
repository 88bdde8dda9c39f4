// Turns in the reference. Each group of a type, and its jobs without a group, is a participant. The contract bounds the
// starts: while a participant could be claimed, no other one starts twice. Which of them comes first is the driver's choice.

import { isBefore, isWaiting, type Job, nameOf, type World } from '../reference.ts'
import { flowOf, groupLimitsOf, holdersOf, isFree, isRunning, mayWaitFor, membersOf, weightOf } from './limits.ts'

export interface Participant {
  /** Undefined: the jobs without a group. */
  readonly key: string | undefined
  /** The jobs that may come first: several, where they have no order. */
  readonly best: readonly Job[]
  /** A driver must be able to start one. Else it may, or may wait for a rate or a sweep. */
  readonly isSure: boolean
}

/**
 * The participants that could start a job now.
 *
 * @param without jobs that a claim may leave for a later one
 * @param isLight as if every job had weight 1
 */
export function participants(world: World, type: string, without: readonly Job[] = [], isLight = false): Participant[] {
  const { slowedFrom, slowedTo } = flowOf(world, type)
  if (world.paused.has(type) || slowedFrom > world.now + world.slack) return []
  const found = [...keysOf(world, type)].map((key) =>
    key === undefined ? lineOf(world, type, without) : groupOf(world, type, key, without, isLight),
  )
  const isSure = slowedTo <= world.now
  return found.filter(({ best }) => best.length > 0).map((one) => (isSure ? one : { ...one, isSure }))
}

const isDue = (world: World, job: Job): boolean => isWaiting(job) && job.runAt <= world.now

/** The jobs that no other precedes. */
const firstOf = (jobs: readonly Job[]): Job[] => jobs.filter((job) => !jobs.some((other) => isBefore(other, job)))

function lineOf(world: World, type: string, without: readonly Job[]): Participant {
  const jobs = [...world.jobs.values()].filter((job) => job.type === type && !job.made.group && isDue(world, job))
  return { key: undefined, best: firstOf(jobs.filter((job) => !without.includes(job))), isSure: true }
}

function groupOf(world: World, type: string, key: string, without: readonly Job[], isLight: boolean): Participant {
  const flow = flowOf(world, type, key)
  const { rate } = groupLimitsOf(world, type, key)
  const best = bestOf(world, type, key, without)
  const rooms = best.map((job) => isFree(world, flow, rate, isLight ? 1 : weightOf(job)))
  const free = best.filter((_, index) => rooms[index]!.possibly)
  const isSure = rooms.every(({ surely }) => surely)
  const isHeld = holdersOf(world, type, key).all.length > 0
  return { key, best: free, isSure: isSure && !isHeld && flow.slowedTo <= world.now }
}

/** The jobs of a group that may come first, whether its rate has room for them or not. */
function bestOf(world: World, type: string, key: string, without: readonly Job[]): Job[] {
  const members = membersOf(world, type, key)
  const { limit = Infinity } = groupLimitsOf(world, type, key)
  if (world.pausedGroups.has(nameOf(type, key)) || holdersOf(world, type, key).sure.length > 0) return []
  if (flowOf(world, type, key).slowedFrom > world.now + world.slack) return []
  const isOrdered = members[0]?.made.group?.ordered === true
  if (members.filter(isRunning).length >= (isOrdered ? 1 : limit)) return []
  const open = isOrdered ? members.slice(0, 1) : members
  return firstOf(open.filter((job) => isDue(world, job) && !without.includes(job)))
}

/** All jobs that may come first, whether rates have room for them or not. */
export function firstJobs(world: World, type: string): Job[] {
  if (world.paused.has(type) || flowOf(world, type).slowedFrom > world.now + world.slack) return []
  return [...keysOf(world, type)].flatMap((key) =>
    key === undefined ? [...lineOf(world, type, []).best] : bestOf(world, type, key, []),
  )
}

/** A claim may have found the rates of groups too full for their best jobs. */
export function waitForRates(world: World, type: string): void {
  for (const key of keysOf(world, type)) {
    if (key === undefined) continue
    mayWaitFor(world, flowOf(world, type, key), groupLimitsOf(world, type, key).rate, bestOf(world, type, key, []))
  }
}

const keysOf = (world: World, type: string): Set<string | undefined> =>
  new Set([...world.jobs.values()].flatMap((job) => (job.type === type ? [job.made.group?.key] : [])))

/** Whether this participant may start a job while those others could. */
export function mayStart(world: World, type: string, own: Participant, all: readonly Participant[]): boolean {
  const { lastStart } = flowOf(world, type, own.key)
  return all.every((other) => {
    if (other === own || !other.isSure) return true
    const { since = Infinity } = flowOf(world, type, other.key)
    return lastStart < since
  })
}

/** Without turns: no job that surely could be started precedes this one. */
export const isBestOfAll = (job: Job, all: readonly Participant[]): boolean =>
  !all.some(({ best, isSure }) => isSure && best.every((other) => isBefore(other, job)))

/** Notes the participants that could be claimed since the last look, and those that could not. */
export function observe(world: World, types: readonly string[]): void {
  const tick = ++world.ticks
  for (const type of types) {
    const sure = participants(world, type).filter(({ isSure }) => isSure)
    for (const key of keysOf(world, type)) {
      const flow = flowOf(world, type, key)
      if (!sure.some((one) => one.key === key)) flow.since = undefined
      else flow.since ??= tick
    }
  }
}

/** The group may have lost its turn, and found it again, in one call. */
export function loseTurn(world: World, { type, made }: Job): void {
  if (made.group) flowOf(world, type, made.group.key).since = undefined
}

/** The order of some starts is not known. */
export function loseTurns(world: World, types: readonly string[]): void {
  for (const type of types) {
    for (const key of keysOf(world, type)) flowOf(world, type, key).since = undefined
  }
}
