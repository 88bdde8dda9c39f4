// At rest the storage counts as many records in each state as it lists, and lists none that nobody asked for. (S2, S19)

import { type FinalRecord, type History, type Violation, violation } from '../history.ts'

export function countsAreTrue({ counts, jobs, strangers }: History): Violation[] {
  const records = [...jobs.flatMap(({ record }) => record ?? []), ...strangers]
  const listed: Record<string, number> = {}
  for (const { state } of records) listed[state] = (listed[state] ?? 0) + 1
  const states = [...new Set([...Object.keys(counts), ...Object.keys(listed)])]
  const wrong = states.filter((state) => (counts[state] ?? 0) !== (listed[state] ?? 0))
  return [
    ...wrong.map((state) =>
      violation('counts', `${counts[state] ?? 0} counted ${state}, ${listed[state] ?? 0} listed`),
    ),
    ...strangers.map((record: FinalRecord): Violation => {
      return { check: 'invented', sentence: `nobody asked for ${record.id}`, entries: [record] }
    }),
  ]
}
