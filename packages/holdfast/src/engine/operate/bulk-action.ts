// An action on many jobs: page by page, batch by batch, with progress and stop. Invariant: it holds one page of jobs at a time.
// A job that cannot be changed is counted, and the action goes on. A storage that does not answer ends it: running it again
// continues, because jobs that were changed no longer match.

import { asError } from '../../error-details.ts'
import type { Clock } from '../../clock.ts'
import { isUnavailable } from '../availability.ts'
import { type NamedJob, named } from './job-item.ts'
import type { JobRef } from '../../storage/storage.ts'

/** How far a bulk action is. */
export interface BulkProgress {
  /** Jobs to expect. Absent if that is not known without reading them: with `group`, `where` or a time range. */
  readonly total?: number
  /** Jobs found so far. */
  readonly matched: number
  /** Jobs that were changed. */
  readonly done: number
  /** Jobs whose state did not allow the change any more. */
  readonly skipped: number
  /** Jobs that could not be changed, each for a reason of its own: see `errors` of the result. */
  readonly failed: number
}

/** What a bulk action ended in. */
export interface BulkResult extends BulkProgress {
  /** Whether stop() ended it before it was through. */
  readonly stopped: boolean
  /** Why jobs failed: the first 100. */
  readonly errors: readonly { readonly job: NamedJob; readonly error: Error }[]
  /** The storage has no index for `where`, and stopped after 100,000 jobs: run the action again. */
  readonly truncated?: true
}

/** A bulk action under way. Iterating over it yields its progress, the latest each time, until it ends. */
export interface BulkAction extends AsyncIterable<BulkProgress> {
  readonly progress: BulkProgress
  /** Resolves at its end, also after stop(). Rejects with a StorageError if the storage fails: then run the action again. */
  readonly result: Promise<BulkResult>
  /** Ends it after the batch under way. */
  stop(): Promise<BulkResult>
}

/** Options of every bulk action. */
export interface BulkOptions {
  /** Most jobs per second. @default no limit */
  readonly perSecond?: number | undefined
  /** Called with the progress after each batch. */
  readonly onProgress?: ((progress: BulkProgress) => void) | undefined
}

/** What became of one job. */
export type BulkOutcome = 'done' | 'skipped' | Error

/** The jobs of an action, one page at a time. */
export interface BulkPages<T> {
  readonly total?: number | undefined
  readonly pages: AsyncIterable<readonly T[]>
  /** Set when the storage said so. */
  isTruncated?(): boolean
}

export interface BulkParts<T extends JobRef> extends BulkOptions {
  readonly clock: Clock
  open(): Promise<BulkPages<T>>
  /** Changes a batch. @returns an outcome per job @throws what the storage rejects with */
  act(batch: readonly T[]): Promise<readonly BulkOutcome[]>
  /** Called at the end, once. */
  onEnd(result: BulkResult): void
  /** Called if `onProgress` throws. */
  onError(error: Error): void
}

const [batchSize, maxErrors] = [500, 100]

const noProgress: BulkProgress = Object.freeze({ matched: 0, done: 0, skipped: 0, failed: 0 })

export class RunningBulkAction<T extends JobRef> implements BulkAction {
  progress: BulkProgress = noProgress
  readonly result: Promise<BulkResult>
  readonly #parts: BulkParts<T>
  readonly #errors: BulkResult['errors'][number][] = []
  #changed = Promise.withResolvers<void>()
  #ended = false
  #stopping = false
  /** Ends the wait for the next batch. */
  #endPause: (() => void) | undefined
  /** When the next batch may begin: local, monotonic ms. */
  #nextAt = 0

  constructor(parts: BulkParts<T>) {
    this.#parts = parts
    this.result = this.#run()
    // A caller that only iterates gets the failure there.
    this.result.catch(() => {})
  }

  stop(): Promise<BulkResult> {
    this.#stopping = true
    this.#endPause?.()
    return this.result
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<BulkProgress, void> {
    for (let seen = noProgress; ;) {
      if (this.progress !== seen) yield (seen = this.progress)
      else if (this.#ended) break
      else await this.#changed.promise
    }
    await this.result
  }

  async #run(): Promise<BulkResult> {
    try {
      const { total, pages, isTruncated } = await this.#parts.open()
      if (total !== undefined) this.#set({ ...this.progress, total })
      for await (const page of pages) {
        if (this.#stopping) break
        this.#set({ ...this.progress, matched: this.progress.matched + page.length })
        await this.#change(page)
        if (this.#stopping) break
      }
      const result: BulkResult = {
        ...this.progress,
        stopped: this.#stopping,
        errors: this.#errors,
        ...(isTruncated?.() && { truncated: true as const }),
      }
      this.#parts.onEnd(result)
      return result
    } finally {
      this.#ended = true
      this.#changed.resolve()
    }
  }

  async #change(page: readonly T[]): Promise<void> {
    const { perSecond = Infinity } = this.#parts
    const size = Math.max(1, Math.min(batchSize, Math.floor(perSecond / 4)))
    for (let start = 0; start < page.length; start += size) {
      await this.#waitForTurn()
      if (this.#stopping) return
      const batch = page.slice(start, start + size)
      this.#nextAt = this.#parts.clock.monotonic() + (1_000 * batch.length) / perSecond
      this.#count(batch, await this.#act(batch))
    }
  }

  /** A batch that is refused for one of its jobs is sent again job by job. */
  async #act(batch: readonly T[]): Promise<readonly BulkOutcome[]> {
    try {
      return await this.#parts.act(batch)
    } catch (thrown) {
      if (isUnavailable(thrown)) throw thrown
      if (batch.length === 1) return [asError(thrown)]
    }
    const outcomes: BulkOutcome[] = []
    for (const job of batch) outcomes.push(...(await this.#act([job])))
    return outcomes
  }

  #count(batch: readonly T[], outcomes: readonly BulkOutcome[]): void {
    const { onProgress, onError } = this.#parts
    let { done, skipped, failed } = this.progress
    outcomes.forEach((outcome, index) => {
      if (outcome === 'done') done++
      else if (outcome === 'skipped') skipped++
      else {
        failed++
        if (this.#errors.length < maxErrors) this.#errors.push({ job: named(batch[index]!), error: outcome })
      }
    })
    this.#set({ ...this.progress, done, skipped, failed })
    try {
      onProgress?.(this.progress)
    } catch (thrown) {
      onError(asError(thrown))
    }
  }

  #set(progress: BulkProgress): void {
    this.progress = progress
    const changed = this.#changed
    this.#changed = Promise.withResolvers()
    changed.resolve()
  }

  async #waitForTurn(): Promise<void> {
    const { clock } = this.#parts
    const waitMs = this.#nextAt - clock.monotonic()
    if (waitMs <= 0 || this.#stopping) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = clock.after(waitMs, resolve)
    this.#endPause = resolve
    await promise
    timer.cancel()
    this.#endPause = undefined
  }
}
