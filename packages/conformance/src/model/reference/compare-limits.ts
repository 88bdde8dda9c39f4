// Compares what the storage says about limits with the reference: the use of them, and the next due instant.
// Both are bounds, where a driver may count a start of a rate a little longer.

import type { GroupUse, LimitUse, Rate, TypeCounts } from 'holdfast/storage'
import { type Flow, isWaiting, must, nameOf, same, show, type World } from '../reference.ts'
import {
  countRunning,
  countWaiting,
  flowOf,
  freeBy,
  groupLimitsOf,
  holdersOf,
  isFree,
  isRunning,
  membersOf,
  usedOf,
} from './limits.ts'
import { participants } from './turns.ts'

export function compareUse(after: World, type: string, counts: TypeCounts): void {
  // The storage may have read at any instant since the call began.
  const world = { ...after, now: after.now - after.slack }
  const flow = flowOf(world, type)
  const { concurrency = Infinity, rate } = world.limits.get(type) ?? {}
  compareSlowed(world, `slowedUntil of ${type}`, counts.slowedUntil, flow)
  if (!counts.limits || !counts.groups) return
  compareOne(world, `limits of ${type}`, counts.limits, {
    running: countRunning(world, type),
    limit: concurrency,
    rate,
    flow,
  })
  for (const use of counts.groups) compareGroup(world, type, use)
}

function compareGroup(world: World, type: string, use: GroupUse): void {
  const { group: key } = use
  const what = `group ${key} of ${type}`
  const members = membersOf(world, type, key)
  const flow = flowOf(world, type, key)
  const { limit = Infinity, rate } = groupLimitsOf(world, type, key)
  const isOrdered = members[0]?.made.group?.ordered === true
  const running = members.filter(isRunning).length
  same(`${what}: waiting`, use.waiting, countWaiting(world, type, key))
  compareOne(world, what, use, { running, limit: isOrdered ? 1 : limit, rate, flow })
  compareSlowed(world, `${what}: slowedUntil`, use.slowedUntil, flow)
  const { sure, all } = holdersOf(world, type, key)
  const isHolder = all.some(({ id }) => id === use.heldBy)
  must(use.heldBy === undefined ? sure.length === 0 : isHolder, () => `${what}: heldBy is ${show(use.heldBy)}`)
}

interface Expected {
  readonly running: number
  readonly limit: number
  readonly rate: Rate | undefined
  readonly flow: Flow
}

function compareOne(world: World, what: string, use: LimitUse, { running, limit, rate, flow }: Expected): void {
  same(`${what}: running`, use.running, running)
  if (!rate) same(`${what}: used`, use.used, undefined)
  else {
    const { least, most } = usedOf(world, flow, rate)
    must(use.used! >= least && use.used! <= most, () => `${what}: ${use.used} are used, expected ${least} to ${most}`)
  }
  if (running >= limit) return same(`${what}: freesAt`, use.freesAt, Infinity)
  const { possibly, surely } = isFree(world, flow, rate, 1)
  if (use.freesAt === undefined) return must(possibly, () => `${what} is not free`)
  must(!surely, () => `${what} is free, and not at ${show(use.freesAt)}`)
  const by = Math.max(freeBy(world, flow, rate!, 1), flow.waitsUntil)
  must(
    use.freesAt > world.now && use.freesAt <= by,
    () => `${what}: freesAt is ${show(use.freesAt)}, expected by ${by}`,
  )
}

function compareSlowed(world: World, what: string, actual: number | undefined, { slowedFrom, slowedTo }: Flow): void {
  if (actual === undefined)
    return must(slowedFrom <= world.now + world.slack, () => `${what}: absent, expected ${slowedFrom}`)
  const isLegal = actual > world.now && actual >= slowedFrom && actual <= slowedTo
  must(isLegal, () => `${what}: ${actual}, expected ${slowedFrom} to ${slowedTo}`)
}

/** Never later than the instant at which a claim would surely yield; never before one at which it possibly would. */
export function compareNextDueAt(
  world: World,
  types: readonly string[],
  next: { at: number; now: number } | undefined,
): void {
  let [earliest, latest] = [Infinity, Infinity]
  for (const type of types) {
    if (world.paused.has(type)) continue
    const bounds = [...boundsOfWaiting(world, type), ...boundsOfLeases(world, type)]
    for (const bound of bounds) {
      earliest = Math.min(earliest, bound.from)
      latest = Math.min(latest, bound.to)
    }
  }
  const at = next === undefined ? Infinity : Math.max(next.at, world.now)
  const isLegal = at >= Math.max(earliest, world.now) && at <= Math.max(latest, world.now) + world.slack
  must(isLegal, () => `nextDueAt is ${show(next)}, expected ${earliest} to ${latest}`)
}

interface Bounds {
  readonly from: number
  readonly to: number
}

/** By the instants at which something changes without a call: then jobs are due, slow-downs end, and starts leave windows. */
function* boundsOfWaiting(world: World, type: string): Iterable<Bounds> {
  const { concurrency = Infinity, rate } = world.limits.get(type) ?? {}
  const jobs = [...world.jobs.values()].filter((job) => job.type === type)
  if (!jobs.some(isWaiting) || jobs.filter(isRunning).length >= concurrency) return
  const keys = new Set(jobs.map((job) => job.made.group?.key))
  const instants = [world.now, ...jobs.filter(isWaiting).map(({ runAt }) => runAt)]
  for (const key of [undefined, ...keys]) {
    const flow = flowOf(world, type, key)
    const perMs = [rate?.perMs ?? 0, key === undefined ? 0 : (groupLimitsOf(world, type, key).rate?.perMs ?? 0)]
    instants.push(flow.slowedFrom, flow.slowedTo, flow.waitsUntil)
    for (const { first, last } of flow.starts) {
      for (const ms of perMs) instants.push(first + ms, last + ms * 1.05)
    }
  }
  const bounds = { from: Infinity, to: Infinity }
  for (const at of new Set(instants.toSorted((a, b) => a - b))) {
    if (at < world.now) continue
    const { possibly, surely } = couldStart(world, type, at)
    if (possibly) bounds.from = Math.min(bounds.from, at)
    if (!surely) continue
    bounds.to = at
    break
  }
  yield bounds
}

/** Whether a claim at an instant could start a job. A driver need not know the weight of the next one. */
function couldStart(world: World, type: string, at: number): { readonly possibly: boolean; readonly surely: boolean } {
  const then = { ...world, now: at, slack: 0 }
  const { rate } = world.limits.get(type) ?? {}
  const flow = flowOf(world, type)
  const open = participants(then, type)
  const isLight = isFree(then, flow, rate, 1).possibly
  const isPossible = isLight && participants(then, type, [], true).length > 0
  const heavy = open.flatMap(({ best }) => best.map(({ made }) => made.weight ?? 1))
  const isSure = open.some((one) => one.isSure) && heavy.every((weight) => isFree(then, flow, rate, weight).surely)
  return { possibly: isPossible, surely: isSure }
}

function* boundsOfLeases(world: World, type: string): Iterable<Bounds> {
  const flow = flowOf(world, type)
  const { rate } = world.limits.get(type) ?? {}
  for (const job of world.jobs.values()) {
    const { group } = job.made
    if (job.type !== type || !isRunning(job) || (group && world.pausedGroups.has(nameOf(type, group.key)))) continue
    const own = group && flowOf(world, type, group.key)
    const ownRate = group && groupLimitsOf(world, type, group.key).rate
    const freeAt = Math.max(
      rate ? Math.max(freeBy(world, flow, rate, Infinity), flow.waitsUntil) : 0,
      own && ownRate ? Math.max(freeBy(world, own, ownRate, Infinity), own.waitsUntil) : 0,
    )
    const isHeld = group !== undefined && holdersOf(world, type, group.key).all.length > 0
    const to = isHeld ? Infinity : Math.max(job.leaseUntil, flow.slowedTo, own?.slowedTo ?? 0, freeAt)
    yield { from: job.leaseUntil, to }
  }
}
