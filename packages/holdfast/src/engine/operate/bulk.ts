// The bulk actions: which jobs each of them finds, and what it does to a batch.

import { HoldfastError } from '../../errors.ts'
import { isFunction, positive } from '../../option-checks.ts'
import type { Table } from '../../resolve-options.ts'
import type { CancelOptions, JobRef, JobState, RecordPart, Revival } from '../../storage/storage.ts'
import { asError } from '../../error-details.ts'
import { type BulkAction, type BulkOptions, type BulkOutcome, RunningBulkAction } from './bulk-action.ts'
import { type Candidate, filterPages, refPages } from './bulk-pages.ts'
import { endedStates, type JobFilter, waitingStates } from './job-filter.ts'
import { type JobItem, jobItem } from './job-item.ts'
import type { Operations } from './operations.ts'

/** Options of redrive(). */
export interface RedriveOptions<TPayload = unknown> extends BulkOptions {
  /**
   * Changes the payload of a job before it runs again. Undefined keeps it as it is. A job whose payload cannot be decoded, or for
   * which this throws, counts as failed and stays as it is.
   */
  readonly edit?: ((payload: TPayload, job: JobItem) => unknown) | undefined
}

/** Jobs of a bulk action, in the words of the storage. */
export type BulkTarget =
  | { readonly refs: readonly JobRef[] }
  /** `types`: stored types, read when the action begins; undefined: all. */
  | { readonly filter: JobFilter; types(): Promise<readonly string[] | undefined> }

export const bulkOptions = {
  perSecond: { check: positive },
  onProgress: { check: isFunction },
} as const satisfies Table

export const redriveOptions = { ...bulkOptions, edit: { check: isFunction } } as const satisfies Table

/** What one kind of action is made of. */
interface Kind {
  /** For the log. */
  readonly name: string
  /** States of the jobs that it finds by a filter without states. */
  readonly states: readonly JobState[]
  /** Parts of the records that it reads. Absent: it needs no record. */
  readonly parts?: readonly RecordPart[]
  act(operations: Operations, batch: readonly Candidate[]): Promise<readonly BulkOutcome[]>
}

export function retryAll(operations: Operations, target: BulkTarget, options: BulkOptions): BulkAction {
  return start(operations, { name: 'retry', states: ['failed'], act: revive }, target, options)
}

/** As retryAll, of failed jobs only, and with other payloads. */
export function redriveAll(operations: Operations, target: BulkTarget, options: RedriveOptions<never>): BulkAction {
  const { edit } = options
  const kind: Kind = { name: 'redrive', states: ['failed'], act: revive }
  if (!edit) return start(operations, kind, target, options)
  const act: Kind['act'] = (on, batch) => reviveEdited(on, batch, edit as NonNullable<RedriveOptions['edit']>)
  return start(operations, { ...kind, parts: ['payload'], act }, target, options)
}

export function cancelAll(
  operations: Operations,
  target: BulkTarget,
  { abort, force, reason, ...options }: BulkOptions & CancelOptions,
): BulkAction {
  const states: readonly JobState[] = abort || force ? [...waitingStates, 'processing'] : waitingStates
  const act: Kind['act'] = async (on, batch) => {
    const verdicts = await on.cancelQuietly(batch.map(refOf), { abort, force, reason })
    return verdicts.map(({ verdict }) => (verdict === 'cancelled' || verdict === 'cancelling' ? 'done' : 'skipped'))
  }
  return start(operations, { name: 'cancel', states, act }, target, options)
}

export function removeAll(operations: Operations, target: BulkTarget, options: BulkOptions): BulkAction {
  return start(operations, { name: 'remove', states: endedStates, act: remove }, target, options)
}

/** Cancels the jobs that wait; with `remove`, deletes their records, too. */
export function drainAll(
  operations: Operations,
  target: BulkTarget,
  { remove: removes, ...options }: BulkOptions & { readonly remove: boolean },
): BulkAction {
  const act: Kind['act'] = async (on, batch) => {
    const verdicts = await on.cancelQuietly(batch.map(refOf), {})
    const cancelled = batch.filter((_, index) => verdicts[index]!.verdict === 'cancelled')
    if (removes) await on.removeQuietly(cancelled.map(refOf))
    return verdicts.map(({ verdict }) => (verdict === 'cancelled' ? 'done' : 'skipped'))
  }
  const name = removes ? 'remove what waits' : 'cancel what waits'
  return start(operations, { name, states: waitingStates, act }, target, options)
}

function start(operations: Operations, kind: Kind, target: BulkTarget, options: BulkOptions): BulkAction {
  const { storage, clock, whenConnected, publishEvent, log } = operations.options
  return new RunningBulkAction<Candidate>({
    ...options,
    clock,
    open: () =>
      whenConnected(async () =>
        'refs' in target
          ? refPages(storage, target.refs, kind.parts)
          : filterPages(storage, target.filter, await target.types(), kind.states, kind.parts),
      ),
    act: (batch) => kind.act(operations, batch),
    onEnd: ({ matched, done, skipped, failed, stopped }) => {
      const end = stopped ? 'was stopped' : 'ended'
      log(`${kind.name} ${end}: ${done} of ${matched} jobs done, ${skipped} skipped, ${failed} failed`, {
        action: kind.name,
        matched,
        count: done,
        skipped,
        failed,
        stopped,
      })
    },
    onError: (error) => publishEvent({ name: 'error', error }),
  })
}

const refOf = ({ type, id }: JobRef): JobRef => ({ type, id })

async function revive(operations: Operations, batch: readonly Revival[]): Promise<readonly BulkOutcome[]> {
  const verdicts = await operations.retryQuietly(
    batch.map(({ type, id, payload }) => (payload === undefined ? { type, id } : { type, id, payload })),
  )
  return verdicts.map(({ verdict }, index) => {
    if (verdict === 'revived') return 'done'
    return verdict === 'conflict' ? keyTaken(batch[index]!) : 'skipped'
  })
}

async function reviveEdited(
  operations: Operations,
  batch: readonly Candidate[],
  edit: NonNullable<RedriveOptions['edit']>,
): Promise<readonly BulkOutcome[]> {
  const { codec } = operations.options
  const outcomes: BulkOutcome[] = batch.map(() => 'skipped')
  const edited: { readonly index: number; readonly revival: Revival }[] = []
  for (const [index, { type, id, record }] of batch.entries()) {
    if (!record) continue
    try {
      const payload = codec.encode(await edit(codec.decode(record.payload), jobItem(record)))
      edited.push({ index, revival: { type, id, payload } })
    } catch (thrown) {
      outcomes[index] = asError(thrown)
    }
  }
  const answers = await revive(
    operations,
    edited.map(({ revival }) => revival),
  )
  edited.forEach(({ index }, position) => (outcomes[index] = answers[position]!))
  return outcomes
}

async function remove(operations: Operations, batch: readonly Candidate[]): Promise<readonly BulkOutcome[]> {
  // Jobs of one chain stand for it: it is removed once.
  const chains = new Map<string, JobRef>()
  for (const job of batch) chains.set(keyOf(job.record?.chain ?? job), job.record?.chain ?? refOf(job))
  const refs = [...chains.values()]
  const verdicts = await operations.removeQuietly(refs)
  const outcomes = new Map(refs.map((ref, index) => [keyOf(ref), verdicts[index]!.verdict]))
  return batch.map((job) => {
    const verdict = outcomes.get(keyOf(job.record?.chain ?? job))
    return verdict === 'removed' ? 'done' : verdict === 'referenced' ? needed(job) : 'skipped'
  })
}

const keyOf = ({ type, id }: JobRef): string => JSON.stringify([type, id])

function keyTaken({ id }: JobRef): HoldfastError {
  const message = `Job '${id}': another job has taken its deduplication key since. It was left as it is.`
  return new HoldfastError('DEDUPLICATION_CONFLICT', message, { jobId: id })
}

function needed({ id }: JobRef): HoldfastError {
  const message = `Job '${id}': unfinished jobs wait for its chain. It was not removed. Cancel those first.`
  return new HoldfastError('BLOCKER_REFERENCED', message, { jobId: id })
}
