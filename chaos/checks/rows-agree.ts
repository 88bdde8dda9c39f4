// A user row and the job added in the same transaction both exist, or neither does. (S23)

import { type History, isLinked, type Violation, violation } from '../history.ts'

const check = 'torn'

export function rowsAgree({ rows, jobs, unrequested, entries }: History): Violation[] {
  if (!rows) return []
  const written = new Set(rows)
  const linked = jobs.filter(isLinked)
  const known = new Set(linked.map(({ id }) => id))
  const undone = new Set(entries.flatMap((entry) => (entry.what === 'undoing' ? [entry.id] : [])))
  const recorded = new Set(unrequested.map(({ id }) => id))
  return [
    ...linked.flatMap((job): Violation[] => {
      const { id, record } = job
      if (written.has(id) === (record !== undefined)) return []
      return [violation(check, record ? `${id}: a job without its row` : `${id}: a row without its job`, job)]
    }),
    ...[...undone].flatMap((id) =>
      written.has(id) || recorded.has(id) ? [violation(check, `${id} was rolled back and exists`)] : [],
    ),
    ...rows.flatMap((id) =>
      known.has(id) || undone.has(id) ? [] : [violation(check, `${id}: a row that was never written`)],
    ),
  ]
}
