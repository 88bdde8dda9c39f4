// A deduplication key as a row. Its holder is looked up when the rules read it.

import type { JobRef } from '../storage.ts'
import type { Job, JobType, Mark } from '../rules/move.ts'

export function markOn(
  rows: { stored(ref: JobRef): Job | undefined },
  type: JobType,
  { key, id, token, mode, shared, until, replacedBy, version }: Omit<Mark, 'job'>,
): Mark {
  return {
    key,
    id,
    token,
    mode,
    shared,
    until,
    replacedBy,
    version,
    get job() {
      const job = rows.stored({ type: type.name, id })
      return job?.token === token ? job : undefined
    },
  }
}
