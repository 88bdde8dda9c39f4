// A clean run in which little happened proves little: what happened less often than it should have. Short runs lose more of
// their time to starting.

import type { Flags } from './flags.ts'
import { pointNames } from './points.ts'

/** Shorter than this, not every kill point has its turn. */
const allPointsSeconds = 240

interface Counts {
  readonly jobs: number
  readonly kills: number
  readonly stops: number
  readonly pointsByName: Readonly<Record<string, number>>
}

export function shortfallsOf({ seconds, kinds }: Flags, { jobs, kills, stops, pointsByName }: Counts): string[] {
  if (kinds.every((kind) => kind === 'full')) return []
  const share = seconds < 60 ? 0.65 : 1
  const names = new Set([...pointNames.worker, ...pointNames.producer])
  const unreached = [...names].filter((name) => pointsByName[name] === undefined)
  return [
    ...short('jobs', jobs, (share * seconds * 100) / 3),
    ...(kinds.includes('kill') ? short('kills', kills, share * seconds) : []),
    ...(kinds.includes('stop') ? short('stops', stops, 0.25 * seconds) : []),
    ...(kinds.includes('point') && seconds >= allPointsSeconds && unreached.length > 0
      ? [`kill points that no process came to: ${unreached.join(', ')}`]
      : []),
  ]
}

function short(what: string, got: number, wanted: number): string[] {
  const least = Math.floor(wanted)
  return got >= least ? [] : [`${what}: ${got}, expected at least ${least}`]
}
