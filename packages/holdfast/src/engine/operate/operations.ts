// What an operator can do with jobs, for the admin handle and for a Queue: they differ only in the types that they reach and in
// how they decode payloads. Every write is logged in one line.

import { type NewTime, type RescheduleResult, rescheduleResult } from './reschedule.ts'
import type { Clock } from '../../clock.ts'
import type {
  CancelOptions,
  CancelVerdict,
  JobRecord,
  JobRef,
  RecordPart,
  RemoveVerdict,
  Revival,
  ReviveVerdict,
} from '../../storage/storage.ts'
import { parseType } from '../../storage/stored-type.ts'
import { engineDefaults } from '../defaults.ts'
import type { PublishEvent } from '../events.ts'
import { explainJob } from '../explain/explain.ts'
import type { Explanation } from '../explain/explanation.ts'
import type { GuardedStorage } from '../guard.ts'
import type { Declared } from '../limits/effective-limits.ts'
import type { WorkerInfo } from '../work/presence.ts'
import { type JobItem, jobItem } from './job-item.ts'
import { type JobTree, readTree } from './job-tree.ts'
import type { JobQuery } from './job-filter.ts'
import { type JobPage, listRecords } from './list-jobs.ts'
import { listWorkers } from './list-workers.ts'
import type { PayloadCodec } from './payload-codec.ts'
import { type TypeSummary, typeSummaries } from './type-summary.ts'

export interface OperationsOptions {
  readonly storage: GuardedStorage
  readonly clock: Clock
  readonly codec: PayloadCodec
  readonly publishEvent: PublishEvent
  /** Calls it when the storage is connected. @throws what the face rejects with once it was stopped */
  whenConnected<T>(call: () => Promise<T>): Promise<T>
  /** Writes one line about a write. */
  log(message: string, data: object): void
}

export class Operations {
  readonly options: OperationsOptions

  constructor(options: OperationsOptions) {
    this.options = options
  }

  // ── reads ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** @param types stored types; undefined: all */
  async list(
    query: JobQuery & { readonly limit: number; readonly payload: boolean; readonly error: boolean },
    types: readonly string[] | undefined,
  ): Promise<JobPage> {
    const { storage, clock, codec, whenConnected } = this.options
    if (types?.length === 0) return { items: [] }
    const { payload, error } = query
    const parts: readonly RecordPart[] = [
      ...(payload ? (['payload'] as const) : []),
      ...(error ? (['error'] as const) : []),
    ]
    const page = await whenConnected(() => listRecords({ storage, clock }, query, types, parts))
    return {
      ...page,
      items: page.items.map((record) => jobItem(record, { codec: payload ? codec : undefined, error })),
    }
  }

  async get(ref: JobRef, parts: readonly RecordPart[]): Promise<JobRecord | undefined> {
    const { storage, whenConnected } = this.options
    const [record] = await whenConnected(() => storage.get([ref], { parts }))
    return record
  }

  /** Those that exist, in the order of the refs. */
  async find(refs: readonly JobRef[]): Promise<JobItem[]> {
    const { storage } = this.options
    const records = await this.#inBatches(refs, (batch) => storage.get(batch, { parts: ['error'] }))
    return records.flatMap((record) => (record ? [jobItem(record, { codec: undefined, error: true })] : []))
  }

  async summaries(types: readonly string[] | undefined): Promise<TypeSummary[]> {
    const { storage, whenConnected } = this.options
    return typeSummaries(await whenConnected(() => storage.count(types ? { types } : {})))
  }

  /** @param type undefined: the workers of every type */
  async workers(type?: string): Promise<WorkerInfo[]> {
    const { storage, whenConnected } = this.options
    const workers = await whenConnected(() => listWorkers(storage))
    if (type === undefined) return workers
    const wanted = parseType(type)
    return workers.filter(({ types }) => types.some(({ face, name }) => face === wanted.face && name === wanted.name))
  }

  /** Why a job waits, runs or is gone. @param own what the code of this process declares about limits */
  explain(ref: JobRef, own?: Declared): Promise<Explanation> {
    const { storage, whenConnected } = this.options
    return whenConnected(() => explainJob(storage, ref, { ...(own && { own }), withWorkers: true }))
  }

  /** The chain of a job, with the chains that it waits for. Undefined if the job is unknown. */
  tree(ref: JobRef): Promise<JobTree | undefined> {
    const { storage, whenConnected } = this.options
    return whenConnected(() => readTree(storage, ref))
  }

  // ── writes ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Makes ended jobs live again. */
  async retry(jobs: readonly Revival[]): Promise<ReviveVerdict[]> {
    const verdicts = await this.retryQuietly(jobs)
    this.#log('retried', verdicts, 'revived', jobs)
    return verdicts
  }

  /** Sets the time of a job that waits. */
  async moveOne(job: JobRef, { tx, ...when }: NewTime): Promise<RescheduleResult> {
    const { storage, whenConnected } = this.options
    const [verdict] = await whenConnected(() => storage.revive([job], { ...when, only: 'waiting', tx }))
    // What is done in a transaction may still roll back: then nothing was moved.
    if (tx === undefined) this.#log('moved', [verdict!], 'moved', [job])
    if (verdict!.verdict !== 'not_revivable') return rescheduleResult(verdict!, undefined)
    const [record] = await whenConnected(() => storage.get([job], { tx }))
    return rescheduleResult(verdict!, record?.state)
  }

  async cancel(jobs: readonly JobRef[], options: CancelOptions): Promise<CancelVerdict[]> {
    const verdicts = await this.cancelQuietly(jobs, options)
    this.#log('cancelled', verdicts, 'cancelled', jobs)
    return verdicts
  }

  /** Deletes the ended chains of these jobs. */
  async remove(jobs: readonly JobRef[]): Promise<RemoveVerdict[]> {
    const verdicts = await this.removeQuietly(jobs)
    this.#log('removed', verdicts, 'removed', jobs)
    return verdicts
  }

  async pause(type: string, paused: boolean, group: string | undefined, by: string | undefined): Promise<void> {
    const { storage, whenConnected, publishEvent, log } = this.options
    await whenConnected(() => storage.pause({ type, group, paused, by }))
    publishEvent({ name: paused ? 'paused' : 'resumed', type, group, by })
    const { face, name } = parseType(type)
    const what = group === undefined ? `${face} '${name}'` : `group '${group}' of ${face} '${name}'`
    log(`${paused ? 'paused' : 'resumed'} ${what}`, { face, name, group, by })
  }

  // ── writes without a line of their own, for bulk actions ───────────────────────────────────────────────────────────

  retryQuietly(jobs: readonly Revival[]): Promise<ReviveVerdict[]> {
    const { storage } = this.options
    return this.#inBatches(jobs, (batch) => storage.revive(batch, { only: 'ended' }))
  }

  async cancelQuietly(jobs: readonly JobRef[], options: CancelOptions): Promise<CancelVerdict[]> {
    const { storage, publishEvent } = this.options
    const verdicts = await this.#inBatches(jobs, (batch) => storage.cancel(batch, options))
    verdicts.forEach(({ verdict }, index) => {
      const { type, id } = jobs[index]!
      if (verdict === 'cancelled') publishEvent({ name: 'cancelled', type, id })
    })
    return verdicts
  }

  async removeQuietly(jobs: readonly JobRef[]): Promise<RemoveVerdict[]> {
    const { storage, publishEvent } = this.options
    const verdicts = await this.#inBatches(jobs, (batch) => storage.remove(batch))
    // A job inside a chain stands for its chain, whose first job never changes.
    const inner = verdicts.flatMap((answer, index) =>
      answer.verdict === 'not_root' ? [{ index, ref: answer.root }] : [],
    )
    if (inner.length > 0) {
      const answers = await this.#inBatches(
        inner.map(({ ref }) => ref),
        (batch) => storage.remove(batch),
      )
      inner.forEach(({ index }, position) => (verdicts[index] = answers[position]!))
    }
    verdicts.forEach(({ verdict }, index) => {
      const { type, id } = jobs[index]!
      if (verdict === 'removed') publishEvent({ name: 'removed', type, id })
    })
    return verdicts
  }

  async #inBatches<T, V>(items: readonly T[], call: (batch: readonly T[]) => Promise<V[]>): Promise<V[]> {
    const { whenConnected } = this.options
    const verdicts: V[] = []
    for (let start = 0; start < items.length; start += engineDefaults.batch) {
      verdicts.push(...(await whenConnected(() => call(items.slice(start, start + engineDefaults.batch)))))
    }
    return verdicts
  }

  #log(what: string, verdicts: readonly { readonly verdict: string }[], done: string, jobs: readonly JobRef[]): void {
    const count = verdicts.filter(({ verdict }) => verdict === done).length
    const [first] = jobs
    const data = jobs.length === 1 ? { ...parseType(first!.type), jobId: first!.id } : {}
    const message =
      jobs.length === 1 ? `${what} ${count} of 1 job ('${first!.id}')` : `${what} ${count} of ${jobs.length} jobs`
    this.options.log(message, { ...data, count, of: jobs.length })
  }
}

/** Calls the logger of an operator. A logger that throws is ignored: there is no place left to report it. */
export function writeLog(
  logger: { info?(data: object, message: string): void } | undefined,
  subject: string,
): OperationsOptions['log'] {
  return (message, data) => {
    try {
      logger?.info?.(data, `${subject}: ${message}`)
    } catch {
      // Nothing to do.
    }
  }
}
