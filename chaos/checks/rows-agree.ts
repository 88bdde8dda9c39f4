// A row of the user's and the job that was added with it, in one transaction, are both there or neither. (S23)

import { type History, isLinked, type Violation, violation } from '../history.ts'

const check = 'torn'

export function rowsAgree({ rows, jobs, strangers, entries }: History): Violation[] {
  if (!rows) return []
  const written = new Set(rows)
  const linked = jobs.filter(isLinked)
  const known = new Set(linked.map(({ id }) => id))
  const undone = new Set(entries.flatMap((entry) => (entry.what === 'undoing' ? [entry.id] : [])))
  const recorded = new Set(strangers.map(({ id }) => id))
  return [
    ...linked.flatMap((job): Violation[] => {
      const { id, record } = job
      if (written.has(id) === (record !== undefined)) return []
      return [violation(check, record ? `${id}: a job, and no row with it` : `${id}: a row, and no job with it`, job)]
    }),
    ...[...undone].flatMap((id) =>
      written.has(id) || recorded.has(id) ? [violation(check, `${id} was rolled back, and is there`)] : [],
    ),
    ...rows.flatMap((id) =>
      known.has(id) || undone.has(id) ? [] : [violation(check, `${id}: a row that nobody wrote`)],
    ),
  ]
}
