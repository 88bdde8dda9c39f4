// Everything that a storage knows about one job, for operators: the view that every face shows, with its log and its blockers.
// Values are decoded by the value codec. An operator has no serde: other bytes are in `undecodable`.

import { jobLogOf, type JobLog } from '../job/log-lines.ts'
import { type JobView, jobViewOf, viewParts } from '../job/job-view.ts'
import { ValueSerde } from '../job/values.ts'
import type { JobRecord, RecordPart } from '../../storage/storage.ts'
import { type NamedJob, named } from './job-item.ts'

/** A job with everything that is stored of it. */
export interface JobDetails extends JobView {
  /** What the job logged, with job.log(): oldest first. */
  readonly log: JobLog
  /** The first jobs of the chains that it waits, or waited, for. */
  readonly blockers: readonly NamedJob[]
  /** First job of its chain, if it is not the first itself. */
  readonly chain?: NamedJob
}

export const detailParts: readonly RecordPart[] = [...viewParts, 'log', 'blockers']

const serde = new ValueSerde<unknown>()

export function jobDetails(record: JobRecord): JobDetails {
  const { chain, blockers = [], log = { lines: [], dropped: 0 } } = record
  const isFirst = chain.id === record.id && chain.type === record.type
  return {
    ...jobViewOf(record, { payloadSerde: serde, resultSerde: serde }),
    log: jobLogOf(log),
    blockers: blockers.map(named),
    ...(!isFirst && { chain: named(chain) }),
  }
}
