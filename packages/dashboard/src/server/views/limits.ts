// The limits of the types, with their use.

import type { LimitsInfo } from 'holdfast'
import type { Answer, LimitsPage, LimitsRow } from '../../shared/api.ts'
import { answerOf, type Context } from '../route.ts'
import { readCounts } from './counts.ts'
import { typeRows } from './overview.ts'

/** Each type is a read of its own. */
const [limitsMs, mostTypes] = [5_000, 50]

export async function limits(context: Context): Promise<Answer<LimitsPage>> {
  const { value: counts } = await readCounts(context)
  const read = await context.reads.read('limits', limitsMs, async () => {
    const rows = typeRows(counts)
    const types = await Promise.all(
      rows.slice(0, mostTypes).map(async ({ face, name }): Promise<LimitsRow> => ({
        face,
        name,
        ...(await context.handles.reader.limits.get({ face, name })),
      })),
    )
    return { types: types.toSorted(limitedFirst), cut: Math.max(0, rows.length - mostTypes) }
  })
  return answerOf(read, (page) => page)
}

const limitedFirst = (a: LimitsInfo, b: LimitsInfo): number => Number(isLimited(b)) - Number(isLimited(a))

const isLimited = ({ effective, groups }: LimitsInfo): boolean => Object.keys(effective).length > 0 || groups.length > 0
