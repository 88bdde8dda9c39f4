// What a request names, so that it is read and locked by the first statement.

import { outcomeJobs } from '../../check.ts'
import type { JobRef, NewJob, Outcome } from '../../storage.ts'
import { type Loaded, type Named, nameOf } from './loaded.ts'
import { encodeText } from './text.ts'
import type { Types } from './types.ts'

export function wantJobs(loaded: Loaded, types: Types, refs: readonly JobRef[]): void {
  wantIn(loaded.want.jobs, types, refs)
}

/** Those who wait for them are not touched. */
export function wantAlone(loaded: Loaded, types: Types, refs: readonly JobRef[]): void {
  wantIn(loaded.want.alone, types, refs)
}

function wantIn(list: Map<string, Named>, types: Types, refs: readonly JobRef[]): void {
  for (const { type, id } of refs) {
    const tid = types.tidOf(type)
    if (tid === undefined) continue
    const key = encodeText(id)
    list.set(nameOf(tid, key), { tid, key })
  }
}

export function wantNewJobs(loaded: Loaded, types: Types, jobs: readonly NewJob[]): void {
  const { want } = loaded
  for (const { type, id, group, deduplication, blockers } of jobs) {
    const tid = types.tidOf(type)!
    const key = encodeText(id)
    const name = nameOf(tid, key)
    // It may have been named as something to be found, too.
    if (!want.jobs.has(name)) want.adding.add(name)
    want.jobs.set(name, { tid, key })
    if (group) want.groups.set(nameOf(tid, encodeText(group.key)), { tid, key: encodeText(group.key) })
    if (deduplication) {
      const encoded = encodeText(deduplication.key)
      want.keys.set(nameOf(tid, encoded), { tid, key: encoded })
    }
    const named = blockers?.filter((blocker) => typeof blocker !== 'number')
    if (named) wantAlone(loaded, types, named)
  }
}

export function wantOutcomes(loaded: Loaded, types: Types, outcomes: readonly Outcome[]): void {
  wantJobs(loaded, types, outcomes)
  for (const outcome of outcomes) {
    if ('chain' in outcome) wantJobs(loaded, types, [outcome.chain])
    const jobs = outcomeJobs(outcome)
    if (jobs.length > 0) wantNewJobs(loaded, types, jobs)
  }
}

/** Every type that is named. */
export function typesOfOutcomes(outcomes: readonly Outcome[]): string[] {
  return outcomes.flatMap((outcome) => ('chain' in outcome ? [outcome.type, outcome.chain.type] : [outcome.type]))
}

export const typesOfBlockers = (jobs: readonly Pick<NewJob, 'blockers'>[]): string[] =>
  jobs.flatMap(({ blockers }) =>
    (blockers ?? []).flatMap((blocker) => (typeof blocker === 'number' ? [] : [blocker.type])),
  )
