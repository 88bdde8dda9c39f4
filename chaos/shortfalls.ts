// A clean run with few events proves little: lists what happened less often than required.

import { driverNamed } from './drivers.ts'
import type { Flags } from './flags.ts'
import type { Operated } from './operated.ts'
import { pointNames, roles } from './points.ts'

/** In a shorter run not every kill point is used. */
const allPointsSeconds = 240

/** A shorter run spends most of its time on starts: it needs one event of each kind. */
const fullRunSeconds = 60

interface Counts {
  readonly jobs: number
  readonly kills: number
  readonly stops: number
  readonly serverKills: number
  readonly sessionsEnded: number
  readonly proxyFaults: Readonly<Record<string, number>>
  readonly pointsByName: Readonly<Record<string, number>>
  readonly operated: Operated
}

export function shortfallsOf({ seconds, kinds, driver }: Flags, counts: Counts): string[] {
  const { jobs, kills, stops, serverKills, sessionsEnded, proxyFaults, pointsByName, operated } = counts
  if (kinds.every((kind) => kind === 'full')) return []
  const isFull = seconds >= fullRunSeconds
  const short = (what: string, got: number, wanted: number): string[] => {
    const least = isFull ? Math.floor(wanted) : 1
    return got >= least ? [] : [`${what}: ${got}, expected at least ${least}`]
  }
  const names = new Set(roles.flatMap((role) => pointNames[role]))
  const unreached = [...names].filter((name) => pointsByName[name] === undefined)
  return [
    ...short('jobs', jobs, seconds * driverNamed(driver).leastRate),
    ...(kinds.includes('kill') ? short('kills', kills, seconds) : []),
    ...(kinds.includes('stop') ? short('stops', stops, 0.25 * seconds) : []),
    ...(kinds.includes('server') ? short('server kills', serverKills, seconds / 8) : []),
    ...(kinds.includes('session') ? short('sessions ended', sessionsEnded, seconds / 4) : []),
    ...(kinds.includes('proxy') ? short('proxy faults', sum(proxyFaults), seconds / 4) : []),
    ...(isFull
      ? [
          ...short('pauses', operated.pauses, seconds / 6),
          ...short('redriven jobs', operated.redriven, seconds / 6),
          ...short('claims with a choice', operated.choices, seconds / 6),
          ...short('log lines', operated.lines, 10 * seconds),
          ...short('starts that filled a type', operated.typeFull, seconds / 6),
          ...short('starts that filled a group', operated.groupFull, seconds / 6),
          ...short('starts that used up a rate', operated.rateFull, seconds / 6),
          ...short('slow-downs', operated.slowDowns, seconds / 30),
          ...short('turns of groups', operated.turns, seconds / 6),
          ...short('slots', operated.slots, seconds / 2),
          // Only processes that are replaced: one that was stopped offers nothing for a minute.
          ...(driverNamed(driver).handsOver && kinds.includes('kill')
            ? short('hand-overs', operated.handedOver, 2 * seconds)
            : []),
          ...short('deduplicated adds', deduplicated(operated), seconds / 6),
        ]
      : []),
    ...(kinds.includes('point') && seconds >= allPointsSeconds && unreached.length > 0
      ? [`kill points that no process reached: ${unreached.join(', ')}`]
      : []),
  ]
}

const deduplicated = ({ keys }: Operated): number =>
  sum(Object.fromEntries(Object.entries(keys).filter(([name]) => !name.endsWith(' queued'))))

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((one, other) => one + other, 0)
