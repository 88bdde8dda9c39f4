// createClient: starts, reads, completes, cancels and deletes chains. A façade: each method checks its argument and delegates.

import { readable } from '../../copy-option.ts'
import { resolveOptions } from '../../resolve-options.ts'
import { isFunction, listOf } from '../../option-checks.ts'
import { HoldfastError, invalidArgument, JobTypeValidationError } from '../../errors.ts'
import { retainedBy } from '../../engine/job/retention.ts'
import { scheduleCalls } from '../../engine/schedule/schedule-calls.ts'
import type { CancelVerdict, JobRef, Retention } from '../../storage/storage.ts'
import { type Dependencies, dependenciesOf } from '../dependencies.ts'
import { chainOf, chainParts, jobOf, jobParts, type PlainChain, type PlainJob } from '../job/records.ts'
import type { StartRequest } from '../job/start-request.ts'
import { type GivenChainSchedule, newScheduleOf, scheduleOwner, shownSchedule } from '../job/schedules.ts'
import { jobRefOf } from '../job/stored-type.ts'
import {
  clientOptions,
  defaultRetention,
  deleteChainsOptions,
  isGiven,
  startManyOptions,
  startOptions,
  waitForChainOptions,
} from '../options.ts'
import { keepUntilResolved } from '../transactions/after-commit.ts'
import type { CancelChainOptions, Client, ClientOptions, WaitOptions } from '../types/client.ts'
import type { ChainRef, PageOf } from '../types/records.ts'
import type { ChainScheduleInfo } from '../types/schedules.ts'
import { cancelChain } from './cancel-chain.ts'
import { ChainWaits } from './chain-waits.ts'
import { copyGiven } from './copy-given.ts'
import { completeChain } from './complete-chain.ts'
import { deleteTrees } from './delete-trees.ts'
import { listChains, listJobs, type ListRequest } from './list.ts'
import { ChainStarter } from './start-chains.ts'
import type { StartedChain } from './start-result.ts'
import { triggerJob } from './trigger-job.ts'

/**
 * Makes a client, which starts chains of jobs and reads them, and connects its storage. It runs no jobs: createInProcessWorker() does.
 * @throws TypeError INVALID_ARGUMENT, StorageError
 */
export async function createClient<T, Tx = never>(options: ClientOptions<T, Tx>): Promise<Client<T, Tx>> {
  const given = resolveOptions('createClient', options, clientOptions)
  for (const name of ['storage', 'jobTypeRegistry'] as const) clientOptions[name].check(name, given[name])
  const dependencies = dependenciesOf(given as Parameters<typeof dependenciesOf>[0])
  await dependencies.storage.connect()
  try {
    // Limits are declared where jobs run: without this read, starts in a transaction would not know them.
    await dependencies.limits.refresh()
  } catch (error) {
    await dependencies.storage.disconnect().catch(() => {})
    throw error
  }
  // Types of jobs exist at compile time only: this cast is the one place that relates both sides.
  const client: unknown = new ChainClient(dependencies, retainedBy(given.retention, defaultRetention))
  return client as Client<T, Tx>
}

type InTx = { readonly tx?: unknown }

class ChainClient {
  readonly #dependencies: Dependencies
  readonly #starter: ChainStarter
  readonly #waits: ChainWaits
  /** See types/client.ts. */
  readonly schedules: ReturnType<typeof scheduleCalls<GivenChainSchedule, ChainScheduleInfo>>
  #closing: Promise<void> | undefined

  constructor(dependencies: Dependencies, retention: Retention) {
    this.#dependencies = dependencies
    this.#starter = new ChainStarter(dependencies, retention)
    this.#waits = new ChainWaits(dependencies)
    const { storage, clock, publishEvent, registry } = dependencies
    const whenConnected = async <R>(call: () => Promise<R>): Promise<R> => {
      this.#checkOpen()
      return call()
    }
    this.schedules = scheduleCalls(
      { storage, clock, owner: scheduleOwner, publishEvent, whenConnected },
      (name, given: GivenChainSchedule) => this.#validated(() => newScheduleOf(name, given, registry, retention)),
      shownSchedule,
    )
  }

  // ── starting ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async startJobChain(options: StartRequest & InTx): Promise<StartedChain> {
    const { tx, ...request } = copyGiven('startJobChain', options)
    const [chain] = await this.#start([request], tx)
    return chain!
  }

  async startJobChains(options: { readonly items: readonly StartRequest[] } & InTx): Promise<StartedChain[]> {
    isGiven('startJobChains', options)
    const { items, tx } = resolveOptions('startJobChains', options, startManyOptions)
    const requests = (listOf('items', items) as StartRequest[]).map((item) => copyGiven('items', item))
    for (const item of requests) {
      if ('tx' in item) throw invalidArgument('items', 'tx beside items, not in them', item.tx)
    }
    return this.#start(requests, tx)
  }

  async #start(requests: readonly StartRequest[], tx: unknown): Promise<StartedChain[]> {
    this.#checkOpen()
    this.#checkTx(tx)
    return this.#validated(() => this.#starter.start(requests, tx))
  }

  // ── reading ────────────────────────────────────────────────────────────────────────────────────────────────────────

  async getJobChain(options: ChainRef & InTx): Promise<PlainChain | null> {
    const { ref, tx } = this.#ref('getJobChain', options)
    const [record] = await this.#dependencies.storage.get([ref], { parts: chainParts, tx })
    return record?.chainIndex === 0 ? chainOf(record) : null
  }

  async getJob(options: ChainRef & InTx): Promise<PlainJob | null> {
    const { ref, tx } = this.#ref('getJob', options)
    const [record] = await this.#dependencies.storage.get([ref], { parts: jobParts, tx })
    return record ? jobOf(record) : null
  }

  async listJobChains(options?: ListRequest): Promise<PageOf<PlainChain>> {
    this.#checkOpen()
    return listChains(this.#dependencies.storage, options)
  }

  async listJobs(options?: ListRequest): Promise<PageOf<PlainJob>> {
    this.#checkOpen()
    return listJobs(this.#dependencies.storage, options)
  }

  async waitForJobChainCompletion(chain: ChainRef, options: WaitOptions): Promise<PlainChain> {
    const { ref } = this.#ref('waitForJobChainCompletion', chain)
    const given = resolveOptions('waitForJobChainCompletion', options, waitForChainOptions)
    waitForChainOptions.timeoutMs.check('timeoutMs', given.timeoutMs)
    return this.#waits.wait(ref, given)
  }

  // ── changing ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async completeJobChain(
    options: ChainRef & { readonly complete: (context: object) => Promise<unknown> } & InTx,
  ): Promise<PlainChain> {
    const { ref, tx } = this.#ref('completeJobChain', options)
    isFunction('complete', options.complete)
    return this.#validated(() => completeChain(this.#dependencies, ref, options.complete, tx))
  }

  async cancelJobChain(options: ChainRef & CancelChainOptions): Promise<CancelVerdict> {
    const given = copyGiven('cancelJobChain', options)
    const { ref } = this.#ref('cancelJobChain', { typeName: given.typeName, id: given.id })
    return cancelChain(this.#dependencies, this.#waits, ref, given)
  }

  async deleteJobChains(options: { readonly rootChainIds: readonly ChainRef[] } & InTx): Promise<void> {
    this.#checkOpen()
    isGiven('deleteJobChains', options)
    const { rootChainIds, tx } = resolveOptions('deleteJobChains', options, deleteChainsOptions)
    deleteChainsOptions.rootChainIds.check('rootChainIds', rootChainIds)
    this.#checkTx(tx)
    await deleteTrees(this.#dependencies, rootChainIds.map(jobRefOf), tx)
  }

  async triggerJob(options: ChainRef & InTx): Promise<PlainJob> {
    const { ref, tx } = this.#ref('triggerJob', options)
    return triggerJob(this.#dependencies, ref, tx)
  }

  async withNotify<R>(run: () => Promise<R>): Promise<R> {
    isFunction('run', run)
    return keepUntilResolved(run)
  }

  // ── closing ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Ends the waits, and gives the connection back. */
  close(): Promise<void> {
    this.#closing ??= this.#waits.close().then(() => this.#dependencies.storage.disconnect())
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  // ── checks ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A chain or job may be given as it was read: only its name and id are used. */
  #ref(where: string, options: ChainRef & InTx): { ref: JobRef; tx: unknown } {
    this.#checkOpen()
    isGiven(where, options)
    const { typeName, id, tx } = readable(`${where} options`, () => ({
      typeName: options.typeName,
      id: options.id,
      tx: options.tx,
    }))
    startOptions.typeName.check('typeName', typeName)
    startOptions.id.check('id', id)
    this.#checkTx(tx)
    return { ref: jobRefOf({ typeName, id }), tx }
  }

  #checkOpen(): void {
    if (this.#closing) throw new HoldfastError('STORAGE_CLOSED', 'the client was closed. Create another one.')
  }

  #checkTx(tx: unknown): void {
    const { features, driver } = this.#dependencies.storage
    if (tx !== undefined && !features.transactions) throw invalidArgument('tx', `no transaction, on ${driver}`, tx)
  }

  async #validated<R>(call: () => Promise<R>): Promise<R> {
    try {
      return await call()
    } catch (error) {
      if (error instanceof JobTypeValidationError) {
        this.#dependencies.publishChainEvent('validationFailed', { typeName: error.typeName, error })
      }
      throw error
    }
  }
}
