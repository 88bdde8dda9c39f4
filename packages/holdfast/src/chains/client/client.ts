// createClient: the door for those who start, read, complete, cancel and delete chains. Longer than others for that: each
// method is a few lines that resolve what was given and hand on.

import { HoldfastError, invalidArgument, JobTypeValidationError } from '../../errors.ts'
import { Adder, asIs } from '../../engine/job/adder.ts'
import {
  cancelChainOptions,
  chainFilterOptions,
  clientOptions,
  completeChainOptions,
  deleteChainsOptions,
  jobFilterOptions,
  listOptions,
  startManyOptions,
  startOptions,
  waitForChainOptions,
} from '../options.ts'
import { resolveOptions } from '../../resolve-options.ts'
import type { AddVerdict, CancelVerdict, JobRef, JobState, ListQuery, NewJob } from '../../storage/storage.ts'
import { afterCommit, keepUntilResolved } from '../attempt/commits.ts'
import { tellAdded, tellFailedWith } from '../events/events.ts'
import { type Ground, groundOf, retentionOf } from '../dependencies.ts'
import { deleteTrees } from './deleting.ts'
import { chainOf, chainParts, jobOf, jobParts, jobRefOf, type PlainChain, type PlainJob } from './reading.ts'
import type { ChainRef, PageOf } from '../types/records.ts'
import { standingChains, startedChains } from './start-result.ts'
import { type StartRequest, Starts } from './start-batch.ts'
import { ourTransaction } from '../attempt/transaction.ts'
import { triggerJob } from './trigger.ts'
import type { Client, ClientOptions, WaitOptions } from '../types.ts'
import { ChainWaits } from './waits.ts'
import { completeChain } from './workerless.ts'

/** @throws TypeError INVALID_ARGUMENT, StorageError */
export async function createClient<T, Tx = never>(options: ClientOptions<T, Tx>): Promise<Client<T, Tx>> {
  const { retention, ...given } = resolveOptions('createClient', options, clientOptions)
  for (const name of ['storage', 'jobTypeRegistry'] as const) clientOptions[name].check(name, given[name])
  const kept = retentionOf(retention)
  const ground = groundOf(given as Parameters<typeof groundOf>[0])
  await ground.storage.connect()
  // What the compiler knows of types, the run time does not: one place says that both mean the same.
  return new ChainClient(ground, kept) as unknown as Client<T, Tx>
}

type InTx = { readonly tx?: unknown }

interface ListRequest {
  readonly filter?: {
    readonly typeName?: readonly string[]
    readonly state?: readonly JobState[]
    readonly chain?: ChainRef
    readonly rootOnly?: boolean
    readonly createdFrom?: number
    readonly createdTo?: number
  }
  readonly orderDirection?: 'asc' | 'desc'
  readonly cursor?: string
  readonly limit?: number
}

class ChainClient {
  readonly #ground: Ground
  readonly #retention: NewJob['retention']
  readonly #adder: Adder
  readonly #waits: ChainWaits
  #closing: Promise<void> | undefined

  constructor(ground: Ground, retention: NewJob['retention']) {
    this.#ground = ground
    this.#retention = retention
    const { storage, clock } = ground
    this.#adder = new Adder(clock.newId(), (jobs) => storage.add(jobs), storage.settings.addsPerCall)
    this.#waits = new ChainWaits(ground)
  }

  // ── starting ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async startJobChain({ tx, ...request }: StartRequest & InTx): Promise<PlainChain & { deduplicated: boolean }> {
    const [chain] = await this.#start([request], tx)
    return chain!
  }

  async startJobChains(
    options: { readonly items: readonly StartRequest[] } & InTx,
  ): Promise<(PlainChain & { deduplicated: boolean })[]> {
    const { items, tx } = resolveOptions('startJobChains', options, startManyOptions)
    startManyOptions.items.check('items', items)
    for (const item of items) if ('tx' in item) throw invalidArgument('items', 'tx beside items, not in them', item.tx)
    return this.#start(items, tx)
  }

  async #start(requests: readonly StartRequest[], tx: unknown): Promise<(PlainChain & { deduplicated: boolean })[]> {
    this.#checkOpen()
    this.#checkTx(tx)
    const { registry, clock, storage, tellChains } = this.#ground
    const standing = await standingChains(storage, requests, tx)
    if (standing.size > 0) return this.#startOthers(requests, standing, tx)
    const starts = new Starts({ registry, clock, retention: this.#retention, tx })
    const { refs, jobs, verdicts } = await this.#written(starts, requests, tx)
    afterCommit(tx, (committed) => {
      tellAdded(tellChains, jobs, verdicts, committed === 'unknown' ? { committed } : {})
    })
    return startedChains(storage, refs, jobs, verdicts, tx)
  }

  async #written(starts: Starts, requests: readonly StartRequest[], tx: unknown) {
    try {
      const refs = await this.#validated(() => inOrder(requests, (request) => starts.start(request)))
      starts.checkCircles()
      const { jobs } = starts
      const verdicts = await this.#add(jobs, tx)
      starts.endSpans()
      return { refs, jobs, verdicts }
    } catch (error) {
      starts.endSpans(error)
      throw error
    }
  }

  /** Those that are known to be duplicates need no blockers: nobody asks for them. */
  async #startOthers(
    requests: readonly StartRequest[],
    standing: ReadonlyMap<StartRequest, PlainChain>,
    tx: unknown,
  ): Promise<(PlainChain & { deduplicated: boolean })[]> {
    const others = requests.filter((request) => !standing.has(request))
    const started =
      others.length > 0
        ? await this.#start(
            others.map((other) => waitingFor(other, standing)),
            tx,
          )
        : []
    afterCommit(tx, (committed) => {
      const more = committed === 'unknown' ? { committed } : {}
      for (const [{ deduplication }, { typeName, id }] of standing) {
        this.#ground.tellChains('jobDeduplicated', { typeName, id, by: deduplication ? 'key' : 'id', ...more })
      }
    })
    return requests.map((request) => {
      const chain = standing.get(request)
      return chain ? { ...chain, deduplicated: true } : started[others.indexOf(request)]!
    })
  }

  /** Those of one tick that are but a job go together. */
  async #add(jobs: readonly NewJob[], tx: unknown): Promise<readonly AddVerdict[]> {
    const [job] = jobs
    if (jobs.length === 1 && tx === undefined && !job!.blockers) {
      return [await this.#adder.add({ ...job!, token: undefined }, asIs)]
    }
    return jobs.length === 0 ? [] : this.#ground.storage.add(jobs, tx)
  }

  // ── reading ────────────────────────────────────────────────────────────────────────────────────────────────────────

  async getJobChain(options: ChainRef & InTx): Promise<PlainChain | null> {
    const { ref, tx } = this.#ref(options)
    const [record] = await this.#ground.storage.get([ref], { parts: chainParts, tx })
    return record?.chainIndex === 0 ? chainOf(record) : null
  }

  async getJob(options: ChainRef & InTx): Promise<PlainJob | null> {
    const { ref, tx } = this.#ref(options)
    const [record] = await this.#ground.storage.get([ref], { parts: jobParts, tx })
    return record ? jobOf(record) : null
  }

  async listJobChains(options?: ListRequest): Promise<PageOf<PlainChain>> {
    const query = this.#query(options, chainFilterOptions)
    const { items, nextCursor = null } = await this.#ground.storage.list({ of: 'chains', parts: chainParts, ...query })
    return { items: items.map(chainOf), nextCursor }
  }

  async listJobs(options?: ListRequest): Promise<PageOf<PlainJob>> {
    const query = this.#query(options, jobFilterOptions)
    const { items, nextCursor = null } = await this.#ground.storage.list({ of: 'jobs', parts: jobParts, ...query })
    return { items: items.map(jobOf), nextCursor }
  }

  #query(
    options: ListRequest | undefined,
    table: typeof jobFilterOptions | typeof chainFilterOptions,
  ): Omit<ListQuery, 'of' | 'parts'> {
    this.#checkOpen()
    const { filter: given, orderDirection, cursor, limit } = resolveOptions('list', options, listOptions)
    const filter: NonNullable<ListRequest['filter']> = resolveOptions('filter', given, table)
    return {
      types: filter.typeName,
      states: filter.state,
      chain: filter.chain && jobRefOf(filter.chain),
      rootOnly: filter.rootOnly,
      createdFrom: filter.createdFrom === undefined ? undefined : Number(filter.createdFrom),
      createdTo: filter.createdTo === undefined ? undefined : Number(filter.createdTo),
      order: orderDirection,
      cursor,
      limit,
    }
  }

  /** @throws WAIT_TIMEOUT, CHAIN_NOT_FOUND, CHAIN_FAILED, CHAIN_CANCELLED, or the signal's reason */
  async waitForJobChainCompletion({ typeName, id }: ChainRef, options: WaitOptions): Promise<PlainChain> {
    const { ref } = this.#ref({ typeName, id })
    const given = resolveOptions('waitForJobChainCompletion', options, waitForChainOptions)
    waitForChainOptions.timeoutMs.check('timeoutMs', given.timeoutMs)
    return this.#waits.wait({ typeName: ref.type, id: ref.id }, given)
  }

  // ── changing ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async completeJobChain(
    options: ChainRef & { readonly complete: (context: object) => Promise<unknown> } & InTx,
  ): Promise<PlainChain> {
    const { complete } = options
    completeChainOptions.complete.check('complete', complete)
    const { ref, tx } = this.#ref(options)
    const { storage } = this.#ground
    return this.#validated(() =>
      tx === undefined && storage.transaction
        ? ourTransaction(storage, (own) => completeChain(this.#ground, ref, complete, own))
        : completeChain(this.#ground, ref, complete, tx),
    )
  }

  async cancelJobChain(options: ChainRef & { readonly reason?: string | null }): Promise<CancelVerdict> {
    const { typeName, id, reason } = options
    // A chain that was cancelled before has none, or its own.
    if (reason !== undefined && reason !== null) cancelChainOptions.reason.check('reason', reason)
    const { ref } = this.#ref({ typeName, id })
    const { storage, tellChains } = this.#ground
    const [answer] = await storage.cancel([ref], { chains: true, force: true, reason: reason ?? undefined })
    const { verdict, ended = [] } = answer!
    if (verdict === 'cancelled') tellChains('jobChainCancelled', { typeName, id, reason: reason ?? undefined })
    tellFailedWith(tellChains, ended)
    return { verdict }
  }

  async deleteJobChains(options: { readonly rootChainIds: readonly ChainRef[] } & InTx): Promise<void> {
    this.#checkOpen()
    const { rootChainIds, tx } = resolveOptions('deleteJobChains', options, deleteChainsOptions)
    deleteChainsOptions.rootChainIds.check('rootChainIds', rootChainIds)
    this.#checkTx(tx)
    await deleteTrees(this.#ground, rootChainIds.map(jobRefOf), tx)
  }

  async triggerJob(options: ChainRef & InTx): Promise<PlainJob> {
    const { ref, tx } = this.#ref(options)
    return triggerJob(this.#ground, ref, tx)
  }

  async withNotify<R>(run: () => Promise<R>): Promise<R> {
    return keepUntilResolved(run)
  }

  /** Ends what waits, and gives its connection back. */
  close(): Promise<void> {
    this.#closing ??= this.#waits.close().then(() => this.#ground.storage.disconnect())
    return this.#closing
  }

  // ── checks ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A chain or job may be given as it was read: what names it counts, the rest does not. */
  #ref({ typeName, id, tx }: ChainRef & InTx): { ref: JobRef; tx: unknown } {
    this.#checkOpen()
    startOptions.typeName.check('typeName', typeName)
    startOptions.id.check('id', id)
    this.#checkTx(tx)
    return { ref: { type: typeName, id }, tx }
  }

  #checkOpen(): void {
    if (this.#closing) throw new HoldfastError('STORAGE_CLOSED', 'the client was closed')
  }

  #checkTx(tx: unknown): void {
    const { features, driver } = this.#ground.storage
    if (tx !== undefined && !features.transactions) throw invalidArgument('tx', `no transaction, on ${driver}`, tx)
  }

  async #validated<R>(call: () => Promise<R>): Promise<R> {
    try {
      return await call()
    } catch (error) {
      if (error instanceof JobTypeValidationError) {
        this.#ground.tellChains('validationFailed', { typeName: error.typeName, error })
      }
      throw error
    }
  }
}

/** Where it names one of the batch that stood already, it waits for what stands. */
function waitingFor(request: StartRequest, standing: ReadonlyMap<StartRequest, PlainChain>): StartRequest {
  if (!request.blockers) return request
  const blockers = request.blockers.map((blocker) => {
    const found = [...standing].find(([{ typeName, id }]) => id === blocker.id && typeName === blocker.typeName)
    return found ? { typeName: found[1].typeName, id: found[1].id } : blocker
  })
  return { ...request, blockers }
}

/** All are begun in order; the first that fails fails them all, when none is under way any more. */
async function inOrder<A, B>(items: readonly A[], run: (item: A) => Promise<B>): Promise<B[]> {
  const results = await Promise.allSettled(items.map(run))
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}
