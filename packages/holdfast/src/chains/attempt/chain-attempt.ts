// One attempt at a job of a chain: the handler, what it prepares and completes, and the transaction these may share.
//
//   handler → prepare? → work → complete → the handler resolves → settle, in the transaction or with the worker's batch
//
// Invariant: nothing is recorded before the handler has resolved, and nothing of an attempt that is over.
// Longer than others: the handler's four calls and the end share the state of one attempt.

import type { Timer } from '../../clock.ts'
import { HoldfastError, LeaseLostError } from '../../errors.ts'
import { isTerminal } from '../../storage/rules/job/states.ts'
import type { AddVerdict, JobRecord, Refusal, SettleVerdict } from '../../storage/storage.ts'
import type { Attempt, JobAbortReason } from '../../engine/work/attempt.ts'
import type { AttemptEnd } from '../../engine/work/outcomes.ts'
import { completedBy, type Completing, endingOf, runCompletion } from './completion.ts'
import { Continued } from '../events/events.ts'
import { failureOf } from './failure.ts'
import type { Ground } from '../dependencies.ts'
import type { AttemptResult, RetryConfig } from '../types/processing.ts'
import type { PlainRunningJob } from '../client/reading.ts'
import { inSpan } from '../events/tracing.ts'
import { OpenTransaction, type TransactionTurns } from './transaction.ts'
import { blockerNotFound } from '../client/workerless.ts'

/** What one type of jobs is run with. */
export interface Processor {
  readonly process: (context: object) => Promise<unknown>
  readonly retry: Required<RetryConfig>
  readonly leaseMs: number
  readonly timeoutMs: number | undefined
}

type Run = (context: object) => unknown

/** After these nothing of the attempt is wanted; after `error` and `stopping` the fence decides. */
const endsIt = (reason: JobAbortReason): boolean => reason !== 'error' && reason !== 'stopping'

export class AttemptRun {
  readonly #attempt: Attempt
  readonly #job: PlainRunningJob
  readonly #processor: Processor
  readonly #ground: Ground
  readonly #turns: TransactionTurns
  /** Rejects when the attempt is over for a reason that is not its handler's. */
  readonly #over = Promise.withResolvers<never>()
  #timer: Timer | undefined
  #prepared = false
  #completing: Promise<Completing> | undefined
  #transaction: OpenTransaction | undefined
  /** An atomic prepare failed: what was written in its transaction is gone. */
  #broken: { readonly error: unknown } | undefined
  #tooLong: HoldfastError | undefined
  #thrown: unknown
  /** The handler has resolved: its word counts, and nothing interrupts the settle. */
  #settling = false

  constructor(attempt: Attempt, job: PlainRunningJob, processor: Processor, ground: Ground, turns: TransactionTurns) {
    this.#attempt = attempt
    this.#job = job
    this.#processor = processor
    this.#ground = ground
    this.#turns = turns
    this.#over.promise.catch(() => {})
    attempt.onAbort = (reason) => {
      if (endsIt(reason)) this.#giveUp(this.#leaseLost(reason))
    }
    attempt.onDecided = () => this.end(this.#leaseLost('stopping'))
  }

  /** Never rejects. */
  async run(): Promise<AttemptEnd> {
    const { process, timeoutMs } = this.#processor
    try {
      if (timeoutMs !== undefined) this.#timer = this.#ground.clock.after(timeoutMs, () => this.#timeOut(timeoutMs))
      await Promise.race([this.#call(process), this.#over.promise])
      if (!this.#completing) throw this.#error('COMPLETE_NOT_CALLED', 'its handler resolved without complete()')
      const completing = await Promise.race([this.#completing, this.#over.promise])
      this.#settling = true
      const end = await this.#finish(completing)
      if (completing.kind === 'continued') completing.onEnd(end.error)
      return end
    } catch (thrown) {
      void this.#completing?.then((one) => one.kind === 'continued' && one.onEnd(thrown)).catch(() => {})
      await this.#transaction?.rollBack(thrown)
      this.#attempt.locked = false
      this.#thrown = this.#tooLong ?? thrown
      return this.#failed(this.#thrown)
    } finally {
      this.#timer?.cancel()
    }
  }

  /**
   * What a middleware is told of the end that run() gave, and of the storage's verdict about it.
   * @throws what the handler threw, or LeaseLostError
   */
  resultOf(end: AttemptEnd, verdict: SettleVerdict | undefined): AttemptResult {
    if (verdict?.verdict !== 'settled' || verdict.state !== 'completed') {
      if (end.error) throw this.#thrown ?? end.error
      throw this.#leaseLost(verdict && isRefusal(verdict) ? verdict.verdict : 'taken_by_another_worker')
    }
    if (!(end.value instanceof Continued)) return { outcome: 'completed', output: end.value }
    const { type, id } = end.value.jobs[0]!
    return { outcome: 'continued', job: { typeName: type, id } }
  }

  /** Ends it from outside, as if its handler had thrown this. */
  end(error: unknown): void {
    if (this.#settling) return
    this.#giveUp(error)
    this.#over.reject(error)
  }

  async #call(process: Processor['process']): Promise<unknown> {
    return process({
      job: this.#job,
      signal: this.#attempt.signal,
      prepare: (options: { readonly mode: 'atomic' | 'staged' }, run?: Run) =>
        inSpan(`prepare ${this.#job.typeName}`, () => this.#prepare(options, run)),
      complete: (given: unknown, options?: { readonly tx?: false }) =>
        inSpan(`complete ${this.#job.typeName}`, () => this.#complete(given, options)),
    })
  }

  #timeOut(timeoutMs: number): void {
    if (this.#settling) return
    this.#attempt.abort('timeout')
    this.end(this.#error('ATTEMPT_TIMEOUT', `it ran for ${timeoutMs} ms`))
  }

  /** What is open is rolled back at once: nobody will commit it. */
  #giveUp(error: unknown): void {
    if (!this.#settling) void this.#transaction?.rollBack(error)
  }

  // ── prepare ────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #prepare({ mode }: { readonly mode: 'atomic' | 'staged' }, run: Run = () => undefined): Promise<unknown> {
    if (this.#completing) throw this.#error('PREPARE_AFTER_COMPLETE', 'prepare() was called after complete()')
    if (this.#prepared) throw this.#error('PREPARE_TWICE', 'prepare() was called before')
    this.#prepared = true
    this.#checkHeld()
    const { storage } = this.#ground
    if (!storage.transaction) {
      await this.#confirm()
      return run({})
    }
    if (mode === 'staged') return this.#stage(run)
    try {
      const { tx } = await this.#open()
      await this.#checkFence(tx, false)
      return await run({ tx })
    } catch (error) {
      this.#broken = { error }
      await this.#transaction?.rollBack(error)
      throw error
    }
  }

  /** A transaction of its own, which ends with the callback. */
  async #stage(run: Run): Promise<unknown> {
    const transaction = await this.#newTransaction(() => {})
    try {
      await this.#checkFence(transaction.tx, false)
      const answer = await Promise.race([run({ tx: transaction.tx }), this.#over.promise])
      if (transaction.isOver) throw this.#error('TRANSACTION_TOO_LONG', 'its prepare() took too long')
      await transaction.commit()
      return answer
    } catch (error) {
      await transaction.rollBack(error)
      throw error
    }
  }

  // ── complete ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async #complete(given: unknown, options: { readonly tx?: false } | undefined): Promise<object> {
    if (this.#completing) throw this.#error('COMPLETE_TWICE', 'complete() was called before')
    const completing = this.#completed(given, options?.tx !== false)
    this.#completing = completing
    // The handler may not wait for it: run() does. What a failed one has written is of no use to anybody.
    completing.catch((error: unknown) => this.#transaction?.rollBack(error))
    await completing
    return { jobId: this.#job.id }
  }

  async #completed(given: unknown, inTransaction: boolean): Promise<Completing> {
    if (this.#broken) throw this.#broken.error
    this.#checkHeld()
    const { job } = this.#attempt
    const { registry, storage } = this.#ground
    if (typeof given !== 'function') return completedBy(job.type, given, registry)
    const run = given as Run
    if (!storage.transaction || !inTransaction) return runCompletion(run, job, this.#ground)
    const { tx } = this.#transaction ?? (await this.#open())
    await this.#checkFence(tx, true)
    return runCompletion(run, job, this.#ground, tx)
  }

  async #finish(completing: Completing): Promise<AttemptEnd> {
    const value = completing.kind === 'completed' ? completing.output : new Continued(completing.jobs)
    const end: AttemptEnd = { ending: endingOf(completing), value, instead: (added) => this.#refusedJobs(added) }
    const transaction = this.#transaction
    if (!transaction) return end
    if (transaction.isOver) throw this.#error('TRANSACTION_TOO_LONG', 'its transaction was rolled back')
    const [verdict] = await this.#ground.storage.settle([{ ...this.#attempt.fence, ...end.ending }], transaction.tx)
    if (verdict!.verdict === 'conflict') throw blockerNotFound(verdict!, this.#about)
    if (verdict!.verdict !== 'settled') throw this.#refuse(verdict!.verdict)
    // From here to the commit its record is locked, whatever led to it.
    this.#attempt.locked = true
    try {
      await transaction.commit()
    } catch (error) {
      // Nobody knows: a retry is answered as this settle was, if it was committed, and counts if it was not.
      return { ...failureOf(this.#attempt, error, this.#processor.retry, this.#ground.clock), value }
    }
    return { ...end, verdict }
  }

  // ── the lease ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** @throws LeaseLostError if it is known to be over */
  #checkHeld(): void {
    const { abortedFor, lost, decided } = this.#attempt
    if (abortedFor && (endsIt(abortedFor) || lost || decided)) throw this.#leaseLost(abortedFor)
    if (decided) throw this.#leaseLost('taken_by_another_worker')
  }

  /** Without a transaction: the storage says whether the lease is ours. */
  async #confirm(): Promise<void> {
    const lease = { ...this.#attempt.fence, leaseMs: this.#processor.leaseMs }
    const [answer] = await this.#ground.storage.extend([lease])
    const { verdict } = answer!
    if (verdict === 'extended' || verdict === 'busy') return
    throw this.#refuse(verdict === 'cancelling' ? 'cancelled' : verdict)
  }

  async #checkFence(tx: unknown, lock: boolean): Promise<void> {
    const { type, id, worker, attempt } = this.#attempt.fence
    const [record] = await this.#ground.storage.get([{ type, id }], { lock, tx })
    const isOurs = record?.state === 'processing' && record.worker === worker && record.attempt === attempt
    if (!isOurs) throw this.#refuse(refusalOf(record))
    if (lock) this.#attempt.locked = true
  }

  /** A verdict of ours says what that of a renewal would: it is somebody else's, and nothing is left to record. */
  #refuse(verdict: Refusal): LeaseLostError {
    const attempt = this.#attempt
    if (!attempt.lost) {
      const { type, id } = attempt.job
      this.#ground.tell({ name: 'fenced', type, id, attempt: attempt.counted, verdict })
    }
    attempt.lost = true
    attempt.abort(verdict)
    return this.#leaseLost(verdict)
  }

  // ── transactions ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** The one that prepare and complete share. */
  async #open(): Promise<OpenTransaction> {
    const transaction = await this.#newTransaction((error) => {
      this.#broken = { error }
      this.#tooLong = error
      this.#attempt.abort('error')
      this.end(error)
    })
    this.#transaction = transaction
    return transaction
  }

  async #newTransaction(onTooLong: (error: HoldfastError) => void): Promise<OpenTransaction> {
    const { storage, clock } = this.#ground
    const longestMs = Math.floor(this.#processor.leaseMs / 4)
    const over = this.#over.promise
    return OpenTransaction.open({ storage, clock, turns: this.#turns, over, longestMs, onTooLong })
  }

  // ── failing ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #failed(thrown: unknown): AttemptEnd {
    return failureOf(this.#attempt, thrown, this.#processor.retry, this.#ground.clock)
  }

  /** A chain that a continuation waits for is not there. */
  #refusedJobs(added: readonly AddVerdict[]): AttemptEnd {
    return this.#failed(blockerNotFound({ added }, this.#about))
  }

  get #about() {
    return { typeName: this.#job.typeName, jobId: this.#job.id, attempt: this.#job.attempt }
  }

  #error(code: ConstructorParameters<typeof HoldfastError>[0], message: string): HoldfastError {
    return new HoldfastError(code, `job '${this.#job.id}', attempt ${this.#job.attempt}: ${message}`, this.#about)
  }

  #leaseLost(reason: JobAbortReason): LeaseLostError {
    return new LeaseLostError({ ...this.#about, reason })
  }
}

/** As the storage would say it. */
function refusalOf(record: JobRecord | undefined): Refusal {
  if (!record) return 'not_found'
  if (record.state === 'cancelled') return 'cancelled'
  return isTerminal(record.state) ? 'already_completed' : 'taken_by_another_worker'
}

const isRefusal = (verdict: SettleVerdict): verdict is { verdict: Refusal } =>
  verdict.verdict !== 'settled' && verdict.verdict !== 'conflict'
