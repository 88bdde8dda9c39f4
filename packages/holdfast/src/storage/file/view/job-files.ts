// The files of a job in the view: the path of its entry, and the content of its entry, record, result and error.

import { join } from 'node:path'
// The default export: older versions of Node.js have no crc32, and node-version.ts must be evaluated there.
import zlib from 'node:zlib'
import { isTerminal } from '../../rules/job/states.ts'
import type { MemoryJob } from '../../memory/data.ts'
import type { Bytes } from '../../storage.ts'
import { defaultType } from '../../stored-type.ts'
import { padded } from '../log/paths.ts'
import type { ChangingPart } from '../replica/record.ts'
import { fileName } from './file-name.ts'

/** The part of a record that decides where its files are, and which ones there are. */
export type Seen = Pick<ChangingPart, 'state' | 'runAt' | 'order' | 'lease' | 'payload' | 'result' | 'error'>

export const seenOf = ({ state, runAt, order, lease, payload, result, error }: MemoryJob): Seen => ({
  state,
  runAt,
  order,
  lease,
  payload,
  result,
  error,
})

/** The folders of the view that hold files of jobs. Each type has them. */
export const jobFolders = [
  'queue',
  'scheduled',
  'priority',
  'blocked',
  'processing',
  'jobs',
  'results',
  'errors',
] as const

/** The folders of the view in the root. Each type has all but the last two. */
export const viewFolders = [...jobFolders, 'chains', 'groups', 'keys', 'kv', 'types'] as const

/** The folder of a type below the root. The default type has the root itself. */
export const typeFolder = (type: string): string => (type === defaultType ? '' : join('types', fileName(type)))

/** The paths where the entry of a job may be. A scheduled entry is not moved when its time comes, so there are two. */
export function entriesOf({ type, priority }: MemoryJob, { state, runAt, order, lease }: Seen): readonly string[] {
  const folder = typeFolder(type.name)
  const name = `${padded(order)}.job`
  if (state === 'processing') return [join(folder, 'processing', fileName(lease!.label ?? lease!.worker), name)]
  if (state === 'blocked') return [join(folder, 'blocked', name)]
  if (isTerminal(state)) return []
  const ready = priority === 0 ? join(folder, 'queue', name) : join(folder, 'priority', String(priority), name)
  const later = join(folder, 'scheduled', `${runAt}-${padded(order)}.job`)
  return state === 'queued' ? [ready, later] : [later, ready]
}

export const recordPath = ({ type, id }: MemoryJob): string =>
  join(typeFolder(type.name), 'jobs', `${fileName(id)}.json`)
export const resultPath = ({ type, id }: MemoryJob): string =>
  join(typeFolder(type.name), 'results', `${fileName(id)}.result`)
export const errorPath = ({ type, id }: MemoryJob): string =>
  join(typeFolder(type.name), 'errors', `${fileName(id)}.error`)

/** One line of JSON about the job, then its payload as it is. */
export function entryBytes({ id, type, createdAt, maxAttempts, retention, payload }: MemoryJob): Buffer {
  const body = payload ? { bytes: payload.byteLength, crc32: zlib.crc32(payload) } : {}
  const head = { id, type: type.name, createdAt, maxAttempts, resultTTL: retention.completedMs, ...body }
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), payload ?? noBytes])
}

const noBytes: Bytes = new Uint8Array()

export function recordBytes(job: MemoryJob, commit: number): Buffer {
  const { id, type, state, lease, group, chain } = job
  const running = state === 'processing'
  const record = {
    id,
    type: type.name,
    state,
    reason: job.reason,
    number: job.accepted,
    priority: job.priority || undefined,
    createdAt: job.createdAt,
    runAt: job.runAt,
    attempts: job.attempt,
    failures: job.failures,
    maxAttempts: job.maxAttempts,
    worker: lease?.label ?? lease?.worker,
    lease: running ? { fence: lease!.worker, until: lease!.until } : undefined,
    cancelling: job.cancelling || undefined,
    startedAt: lease?.startedAt,
    finishedAt: job.finishedAt,
    expiresAt: chain.expiresAt,
    group: group?.key,
    membership: job.membership,
    weight: job.weight === 1 ? undefined : job.weight,
    key: chain.mark?.key,
    chain: chain === job ? undefined : { type: chain.type.name, id: chain.id, index: job.chainIndex },
    blockers: job.blockers?.map(({ ref, done }) => ({ ...ref, done })),
    commit,
  }
  return Buffer.from(`${JSON.stringify(record, null, 2)}\n`)
}
