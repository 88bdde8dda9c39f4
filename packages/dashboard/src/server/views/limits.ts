// The limits of the types, with their use.

import type { Admin, LimitsInfo } from 'holdfast'
import { type Answer, largestPage, type LimitsPage, type LimitsRow } from '../../shared/api.ts'
import { answerOf, type Context } from '../route.ts'
import { mostListMs, readCounts } from './counts.ts'
import { keyOf, typeRows } from './overview.ts'

/** A type with limits or groups is a read of its own. */
const [limitsMs, mostTypes, mostGroups] = [5_000, 50, 20]

export async function limits(context: Context): Promise<Answer<LimitsPage>> {
  const { value: counts } = await readCounts(context)
  const read = await context.reads.read('limits', limitsMs, async () => {
    const rows = typeRows(counts)
    const { reader } = context.handles
    const groups = await liveGroups(reader)
    const shown = rows.slice(0, mostTypes).map((row) => {
      const known = new Set([...row.pausedGroups.map(({ group }) => group), ...(groups.get(keyOf(row)) ?? [])])
      return { ...row, groups: [...known].slice(0, mostGroups) }
    })
    const found = await reader.limits.list(shown)
    const types = shown.map(({ face, name, pausedGroups }, index): LimitsRow => {
      const paused = pausedGroups.map(({ group }) => group)
      return { face, name, pausedGroups: paused, ...found[index]! }
    })
    return { types: types.toSorted(limitedFirst), cut: Math.max(0, rows.length - mostTypes) }
  })
  return answerOf(read, (page) => page)
}

/** Groups of some jobs that run or wait, by type. Those that an operator set limits for are known anyway. */
async function liveGroups(reader: Admin): Promise<Map<string, Set<string>>> {
  const query = { states: ['processing', 'queued', 'failing'], limit: largestPage, maxMs: mostListMs } as const
  const { items } = await reader.jobs.list(query)
  const groups = new Map<string, Set<string>>()
  for (const item of items) {
    if (item.group === undefined) continue
    const key = keyOf(item)
    groups.set(key, (groups.get(key) ?? new Set()).add(item.group))
  }
  return groups
}

const limitedFirst = (a: LimitsInfo, b: LimitsInfo): number => Number(isLimited(b)) - Number(isLimited(a))

const isLimited = ({ effective, groups }: LimitsInfo): boolean => Object.keys(effective).length > 0 || groups.length > 0
