// The types, page by page, with their limits: by what needs attention, or those whose name has a text.

import type { LimitsInfo } from 'holdfast'
import type { Answer, TypesPage, TypesRow } from '../../shared/api.ts'
import { invalid } from '../http/errors.ts'
import { answerOf, type Call, type Context } from '../route.ts'
import { readCounts } from './counts.ts'
import { keyOf, typeRows } from './overview.ts'

/** A type whose limits have a use is a read of its own, so a page is short. */
const [limitsMs, pageSize] = [5_000, 50]

export async function types(context: Context, { query }: Call): Promise<Answer<TypesPage>> {
  const wanted = (query.get('q') ?? '').trim().toLowerCase()
  const page = pageOf(query.get('page'))
  const { value: counts, at } = await readCounts(context)
  const rows = typeRows(counts)
  const matching = wanted === '' ? rows : rows.filter(({ name }) => name.toLowerCase().includes(wanted))
  const shown = matching.slice(page * pageSize, (page + 1) * pageSize)
  const { limits } = context.handles.reader
  const read = await context.reads.read(JSON.stringify(['types', shown.map(keyOf)]), limitsMs, () => limits.list(shown))
  return answerOf({ value: read.value, at, costMs: read.costMs }, (found: readonly LimitsInfo[]) => ({
    types: shown.map((row, index): TypesRow => {
      const { effective, use } = found[index]!
      return { ...row, limits: { concurrency: effective.concurrency, rate: effective.rate, use } }
    }),
    matching: matching.length,
    total: rows.length,
    page,
    pages: Math.max(1, Math.ceil(matching.length / pageSize)),
  }))
}

function pageOf(text: string | null): number {
  if (text === null) return 0
  if (!/^\d{1,6}$/.test(text)) throw invalid('page: expected an integer of at least 0.')
  return Number(text)
}
