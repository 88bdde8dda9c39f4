// admin.bulk: actions on many jobs.

import { readable } from '../copy-option.ts'
import { type BulkTarget, cancelAll, redriveAll, removeAll, retryAll } from '../engine/operate/bulk.ts'
import type { NamedJob } from '../engine/operate/job-item.ts'
import type { Operations } from '../engine/operate/operations.ts'
import { resolveOptions, type Table } from '../resolve-options.ts'
import type { AdminBulk, AdminJobFilter } from './admin.ts'
import { refsOf } from './jobs.ts'
import {
  adminFilterOptions,
  bulkActionOptions,
  bulkCancelOptions,
  redriveFilterOptions,
  redriveOptions,
} from './options.ts'
import { typesOf } from './types-of.ts'

export function adminBulk(operations: Operations): AdminBulk {
  const targetOf = (where: string, given: AdminJobFilter | readonly NamedJob[], table: Table): BulkTarget => {
    if (readable('jobs', () => Array.isArray(given))) return { refs: refsOf(given as readonly NamedJob[]) }
    const filter: AdminJobFilter = resolveOptions(where, given as AdminJobFilter, table)
    return { filter, types: () => typesOf(operations, filter) }
  }
  return {
    retry(jobs, options) {
      const given = resolveOptions('bulk.retry', options, bulkActionOptions)
      return retryAll(operations, targetOf('bulk.retry', jobs, adminFilterOptions), given)
    },
    cancel(jobs, options) {
      const given = resolveOptions('bulk.cancel', options, bulkCancelOptions)
      return cancelAll(operations, targetOf('bulk.cancel', jobs, adminFilterOptions), given)
    },
    remove(jobs, options) {
      const given = resolveOptions('bulk.remove', options, bulkActionOptions)
      return removeAll(operations, targetOf('bulk.remove', jobs, adminFilterOptions), given)
    },
    redrive(jobs, options) {
      const given = resolveOptions('bulk.redrive', options, redriveOptions)
      return redriveAll(operations, targetOf('bulk.redrive', jobs, redriveFilterOptions), given)
    },
  }
}
