// Limits in the reference. A rate may be counted in parts of a 20th of its window, so some starts are possible and not
// certain; the same holds for instants within the slack. The driver decides about these.

import type { GroupLimits, Rate } from 'holdfast/storage'
import { find, type Flow, isEnded, isWaiting, type Job, must, nameOf, show, type World } from '../reference.ts'

/** Largest share of the window by which a counted start may leave it late. */
const lateShare = 1 / 20

const newFlow = (): Flow => ({ slowedFrom: 0, slowedTo: 0, starts: [], waitsUntil: 0, since: undefined, lastStart: 0 })

/** The flow of a group, or of a type: there, the turns are those of its jobs without a group. */
export function flowOf(world: World, type: string, key?: string): Flow {
  const name = nameOf(type, key === undefined ? '' : `group ${key}`)
  let flow = world.flows.get(name)
  if (!flow) world.flows.set(name, (flow = newFlow()))
  return flow
}

export function groupLimitsOf(world: World, type: string, key: string): GroupLimits {
  const { group, groups } = world.limits.get(type) ?? {}
  return (groups && Object.hasOwn(groups, key) ? groups[key] : group) ?? {}
}

/** Unfinished jobs of a group, in the order of acceptance. */
export function membersOf(world: World, type: string, key: string): Job[] {
  const members = [...world.jobs.values()].filter(
    (job) => job.type === type && job.made.group?.key === key && !isEnded(job),
  )
  return members.toSorted((a, b) => a.accepted - b.accepted)
}

export const isRunning = ({ phase }: Job): boolean => phase === 'processing'
export const countRunning = (world: World, type: string): number =>
  [...world.jobs.values()].filter((job) => job.type === type && isRunning(job)).length

/** Failed jobs that hold a group. One that is gone holds it until it is swept, or no longer: the driver decides. */
export function holdersOf(world: World, type: string, key: string): { readonly sure: Job[]; readonly all: Job[] } {
  const all = [...world.jobs.values()].filter((job) => job.type === type && job.made.group?.key === key && job.holds)
  return { sure: all.filter((job) => find(world, job)), all }
}

/** Nothing of a type, or of a group, starts before this instant. Of several, the latest counts. */
export function slowDown(world: World, flow: Flow, until: number): void {
  if (until <= world.now) return
  flow.slowedFrom = Math.max(flow.slowedFrom, until)
  flow.slowedTo = Math.max(flow.slowedTo, until + world.slack)
}

/** The weight of starts that are certainly in the window, and of those that may be counted. */
export function usedOf(
  world: World,
  { starts }: Flow,
  { perMs }: Rate,
): { readonly least: number; readonly most: number } {
  const used = { least: 0, most: 0 }
  for (const { first, last, weight } of starts) {
    if (world.now + world.slack - first < perMs) used.least += weight
    if (last + perMs * (1 + lateShare) > world.now) used.most += weight
  }
  return used
}

const costOf = ({ limit }: Rate, weight: number): number => Math.min(weight, limit)
export const weightOf = ({ made }: Job): number => made.weight ?? 1

/** Whether a rate has room for a start: possibly, and certainly. */
export function isFree(
  world: World,
  flow: Flow,
  rate: Rate | undefined,
  weight: number,
): { readonly possibly: boolean; readonly surely: boolean } {
  if (!rate) return { possibly: true, surely: true }
  const { least, most } = usedOf(world, flow, rate)
  const room = rate.limit - costOf(rate, weight)
  return { possibly: least <= room, surely: most <= room && flow.waitsUntil <= world.now }
}

/** The latest instant at which a rate is free for a start of this weight. */
export function freeBy(world: World, { starts }: Flow, rate: Rate, weight: number): number {
  const latest = starts.map(({ last }) => last + rate.perMs * (1 + lateShare)).toSorted((a, b) => a - b)
  const isFreeAt = (at: number): boolean => {
    const used = starts.filter(({ last }) => last + rate.perMs * (1 + lateShare) > at)
    return used.reduce((sum, { weight: each }) => sum + each, 0) + costOf(rate, weight) <= rate.limit
  }
  return [world.now, ...latest].find((at) => at >= world.now && isFreeAt(at)) ?? world.now
}

/** A driver that found the rate too full for a job may wait until it is free for that job, whatever becomes of it. */
export function mayWaitFor(world: World, flow: Flow, rate: Rate | undefined, jobs: readonly Job[]): void {
  if (!rate) return
  for (const job of jobs) {
    if (isFree(world, flow, rate, weightOf(job)).surely) continue
    flow.waitsUntil = Math.max(flow.waitsUntil, freeBy(world, flow, rate, weightOf(job)))
  }
}

/** Counts a start, which must be within the rates of its type and group. */
export function start(world: World, job: Job): void {
  const { group } = job.made
  const tick = ++world.ticks
  const typeFlow = flowOf(world, job.type)
  count(world, job, typeFlow, world.limits.get(job.type)?.rate)
  if (group) count(world, job, flowOf(world, job.type, group.key), groupLimitsOf(world, job.type, group.key).rate)
  const turns = group ? flowOf(world, job.type, group.key) : typeFlow
  turns.lastStart = tick
  turns.since = undefined
}

function count(world: World, job: Job, flow: Flow, rate: Rate | undefined): void {
  if (!rate) return
  const weight = costOf(rate, weightOf(job))
  const { least } = usedOf(world, flow, rate)
  must(least + weight <= rate.limit, () => `${show(job.made.id)} exceeds the rate ${show(rate)}: ${least} were used`)
  flow.starts.push({ first: world.now, last: world.now + world.slack, weight })
}

/** Jobs of a type, or of a group of it, that wait: scheduled, queued, failing or blocked. */
export function countWaiting(world: World, type: string, key?: string): number {
  return [...world.jobs.values()].filter(
    (job) =>
      job.type === type &&
      (key === undefined || job.made.group?.key === key) &&
      (isWaiting(job) || job.phase === 'blocked'),
  ).length
}
