// count: one call of lua/count.ts.

import { stateNames } from '../../rules/job/codes.ts'
import type { CountQuery, Counts, Paused, TypeCounts } from '../../storage.ts'
import { type List, optional, text } from '../codec/fields.ts'
import { packed } from '../codec/requests.ts'
import type { Unpacked } from '../codec/unpack.ts'
import type { ScriptRunner } from './script-runner.ts'

export async function count(scripts: ScriptRunner, { types }: CountQuery): Promise<Counts> {
  const [now, answers] = await scripts.ask('count', [packed(types ?? false)])
  const counts = (answers as List[]).map(typeCounts)
  return { now: now as number, types: types ? counts : counts.filter(hasContent) }
}

function typeCounts([type, states, due, delayed, oldest, paused, groups]: List): TypeCounts {
  return {
    type: text(type),
    states: Object.fromEntries(
      stateNames.map((name, code) => [name, (states as number[])[code]!]),
    ) as TypeCounts['states'],
    due: due as number,
    delayed: delayed as number,
    oldestDueAt: optional<number>(oldest),
    paused: pausedOf(paused),
    pausedGroups: (groups as [Buffer, Unpacked][]).map(([group, since]) => ({
      group: text(group),
      ...pausedOf(since)!,
    })),
  }
}

function pausedOf(value: Unpacked): Paused | undefined {
  if (!value) return undefined
  const [since, by] = value as [number, Buffer | false]
  return { since, by: by === false ? undefined : text(by) }
}

/** A type without jobs and pauses is registered until the next sweep, and not shown. */
const hasContent = ({ states, paused, pausedGroups }: TypeCounts): boolean =>
  paused !== undefined || pausedGroups.length > 0 || Object.values(states).some((number) => number > 0)
