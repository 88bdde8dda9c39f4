// At rest the counts by state equal the listed records, and every record was requested. (S2, S19)

import { type FinalRecord, type History, type Violation, violation } from '../history.ts'

export function countsAreTrue({ counts, jobs, unrequested }: History): Violation[] {
  const records = [...jobs.flatMap(({ record }) => record ?? []), ...unrequested]
  const listed: Record<string, number> = {}
  for (const { state } of records) listed[state] = (listed[state] ?? 0) + 1
  const states = [...new Set([...Object.keys(counts), ...Object.keys(listed)])]
  const wrong = states.filter((state) => (counts[state] ?? 0) !== (listed[state] ?? 0))
  return [
    ...wrong.map((state) =>
      violation('counts', `${counts[state] ?? 0} counted ${state}, ${listed[state] ?? 0} listed`),
    ),
    ...unrequested.map((record: FinalRecord): Violation => {
      return { check: 'invented', sentence: `${record.id} was never added`, entries: [record] }
    }),
  ]
}
