// count: one call of lua/count.ts.

import { checkCountQuery } from '../../check.ts'
import { stateNames } from '../../rules/job/codes.ts'
import type {
  CountQuery,
  Counts,
  GroupUse,
  LimitUse,
  NextOfGroup,
  NextStart,
  Paused,
  TypeCounts,
} from '../../storage.ts'
import { type List, optional, text } from '../codec/fields.ts'
import { packLimits } from '../codec/limits.ts'
import { packed } from '../codec/requests.ts'
import type { Unpacked } from '../codec/unpack.ts'
import type { ScriptRunner } from './script-runner.ts'

export async function count(scripts: ScriptRunner, query: CountQuery): Promise<Counts> {
  checkCountQuery(query)
  const { types, limits: asked, next } = query
  const limits = asked && [asked.type, packLimits(asked.limits), asked.groups ?? []]
  const wanted = next && [next.type, packLimits(next.limits), next.group ?? false, next.weight ?? 1]
  const [now, answers, start] = await scripts.ask('count', [packed([types ?? false, limits ?? false, wanted ?? false])])
  const counts = (answers as List[]).map((answer) => typeCounts(answer, asked?.groups ?? []))
  return {
    now: now as number,
    types: types ? counts : counts.filter(hasContent),
    ...(next && { next: nextStart(start as List, next.group) }),
  }
}

function nextStart(answer: List, key: string | undefined): NextStart {
  const [, , , paused, slowed, leaseEnd, line, turn, group, due] = answer
  const since = pausedOf(paused!)
  return {
    ...limitUse(answer),
    ...(since && { paused: since }),
    ...(slowed !== false && { slowedUntil: slowed as number }),
    ...(leaseEnd !== false && { leaseEnd: leaseEnd as number }),
    ...(line !== false && { line: text(line!) }),
    due: due as number,
    ...(turn !== false && { turn: turn === true ? {} : { group: text(turn!) } }),
    ...(key !== undefined && { group: nextOfGroup(key, group as List) }),
  }
}

function nextOfGroup(key: string, answer: List): NextOfGroup {
  const [paused, ordered, first, turnAt] = answer.slice(6)
  const since = pausedOf(paused!)
  return {
    ...groupUse(key, answer),
    ...(since && { paused: since }),
    ordered: ordered === true,
    ...(first !== false && { job: text(first!) }),
    ...(turnAt !== false && { turnAt: turnAt as number }),
  }
}

function typeCounts(answer: List, keys: readonly string[]): TypeCounts {
  const [type, states, due, delayed, oldest, paused, groups, slowed, use, uses] = answer
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
    slowedUntil: optional<number>(slowed!),
    ...(use && { limits: limitUse(use as List), groups: keys.map((key, at) => groupUse(key, (uses as List[])[at]!)) }),
  }
}

function limitUse([running, used, freesAt]: List): LimitUse {
  return {
    running: running as number,
    ...(used !== false && { used: used as number }),
    ...(freesAt !== false && { freesAt: freesAt as number }),
  }
}

function groupUse(group: string, use: List): GroupUse {
  const [, , , waiting, slowed, held] = use
  return {
    group,
    waiting: waiting as number,
    ...limitUse(use),
    ...(slowed !== false && { slowedUntil: slowed as number }),
    ...(held !== false && { heldBy: text(held!) }),
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
