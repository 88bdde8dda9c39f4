// Chains to start and jobs to continue with, gathered as one batch for the storage: a job first, the chains that were started to
// block it behind it. Nothing is written here.

import { types } from 'node:util'
import type { Clock } from '../../clock.ts'
import { HoldfastError, invalidArgument, JobTypeValidationError } from '../../errors.ts'
import type { JobRef, NewJob, Retention } from '../../storage/storage.ts'
import { producerSpan } from '../events/tracing.ts'
import { isGiven, startOptions } from '../options.ts'
import type { CheckedBlocker, JobTypeRegistry } from '../registry.ts'
import type { ChainRef } from '../types/records.ts'
import type { Span, TraceContext } from '../../engine/tracing.ts'
import { checkCycles } from './blocker-cycles.ts'
import { chainStartOf, decodeTrace, encodeTrace } from './carried.ts'
import {
  chainDeduplicationOf,
  type Predecessor,
  resolveContinuation,
  resolveStart,
  retentionWithin,
  sharedFields,
  type StartRequest,
} from './start-request.ts'
import { chainRefOf, jobRefOf, typeNameOf, typeOf } from './stored-type.ts'
import { encodeInput } from './values.ts'

interface BatchOptions {
  readonly registry: JobTypeRegistry<unknown>
  readonly clock: Clock
  readonly retention: Retention
  /** Sets what the limits of its type mean for a job. @throws TypeError INVALID_ARGUMENT for one that is too heavy */
  readonly applyLimits: (job: { -readonly [K in keyof NewJob]: NewJob[K] }) => void
  /** One chain was asked for; others of the batch are its blockers. @default false */
  readonly isSingle?: boolean
  /** For callbacks, where there is one. */
  readonly tx?: unknown
}

/** A chain of the batch: its position, its input as it was given, and the chain whose `startBlockers` started it. */
interface Entry {
  readonly index: number
  readonly input: unknown
  readonly under: Entry | undefined
}

/** What `startBlockers` is told of its job. */
type JobToBlock = ChainRef & { readonly chainId: string; readonly input: unknown }

const mostBlockers = 1_000

export class StartBatch {
  readonly #options: BatchOptions
  readonly #token: string
  readonly #jobs: (NewJob | undefined)[] = []
  readonly #entries = new Map<string, Entry>()
  readonly #spans: Span[] = []

  constructor(options: BatchOptions) {
    this.#options = options
    this.#token = options.clock.newId()
  }

  /** Complete once every start has resolved. */
  get jobs(): readonly NewJob[] {
    return this.#jobs as readonly NewJob[]
  }

  /** @throws INVALID_ARGUMENT, JobTypeValidationError, SerializationError, and what `startBlockers` throws */
  async start(given: StartRequest): Promise<ChainRef> {
    return this.#start(given, undefined)
  }

  /** The continuation: the first job of its batch. @throws as start() */
  async continue(given: StartRequest, predecessor: Predecessor): Promise<NewJob> {
    const request = resolveContinuation(given)
    const entry = { index: this.#jobs.push(undefined) - 1, input: request.input, under: undefined }
    const { typeName, input } = request
    await this.#options.registry.validateContinueWith(typeNameOf(predecessor.type), { typeName, input })
    const { priority, retention, chain } = predecessor
    const ref = { type: typeOf(typeName), id: this.#options.clock.newId() }
    const traceContext = this.#span(ref, chain, undefined) ?? decodeTrace(predecessor.trace).traceContext
    const trace = encodeTrace(traceContext, chainStartOf(predecessor))
    const job = { priority, ...(await this.#jobOf(request, ref, chain, entry)), trace, retention }
    this.#jobs[0] = job
    return job
  }

  /** To be called once every start has resolved. @throws BLOCKER_OWN_CHAIN if chains of the batch wait for one another */
  checkCycles(): void {
    checkCycles(this.jobs, (ref) => this.#entries.get(nameOf(ref))?.index)
  }

  /** To be called when the batch is written, or will not be. @param error why not */
  endSpans(error?: unknown): void {
    for (const span of this.#spans.splice(0)) span.end(error)
  }

  async #start(given: StartRequest, under: Entry | undefined): Promise<ChainRef> {
    const request = resolveStart(given)
    // Before anything is awaited: a blocker stands behind the job it blocks, in the order of the calls.
    const index = this.#jobs.push(undefined) - 1
    const { typeName, traceContext } = request
    const ref = { type: typeOf(typeName), id: request.id ?? this.#options.clock.newId() }
    const entry = { index, input: request.input, under }
    // The first chain of the batch with an id is the one that blockers of that name refer to.
    if (!this.#entries.has(nameOf(ref))) this.#entries.set(nameOf(ref), entry)
    await this.#options.registry.validateEntry(typeName)
    const unique = chainDeduplicationOf(request, under === undefined && this.#options.isSingle === true)
    const active = this.#span(ref, ref, traceContext)
    this.#jobs[index] = {
      ...(await this.#jobOf(request, ref, ref, entry)),
      deduplication: unique,
      retention: retentionWithin(this.#options.retention, unique),
      trace: encodeTrace(traceContext ?? active),
    }
    return chainRefOf(ref)
  }

  #span(ref: JobRef, chain: JobRef, parent: TraceContext | undefined): TraceContext | undefined {
    const span = producerSpan(ref, chain, parent)
    if (span) this.#spans.push(span)
    return span?.traceContext
  }

  async #jobOf(request: StartRequest, ref: JobRef, chain: JobRef, entry: Entry): Promise<NewJob> {
    const { typeName } = request
    const parsed = this.#options.registry.parseInput(typeName, request.input)
    // Not awaited unless it is a promise: an await would call `then` of any input that has one.
    const input: unknown = types.isPromise(parsed) ? await parsed : parsed
    const payload = encodeInput(typeName, input)
    const job = {
      ...ref,
      token: this.#token,
      payload,
      retention: this.#options.retention,
      ...sharedFields(request),
    }
    this.#options.applyLimits(job)
    const blockers = await this.#blockersOf(request, { ...chainRefOf(ref), chainId: chain.id, input }, chain, entry)
    return { ...job, ...blockers }
  }

  async #blockersOf(
    request: StartRequest,
    job: JobToBlock,
    chain: JobRef,
    self: Entry,
  ): Promise<Pick<NewJob, 'blockers' | 'onBlockerFailure'>> {
    const { typeName, startBlockers, onBlockerFailure } = request
    const chains = startBlockers ? await this.#started(startBlockers, job, self) : (request.blockers ?? [])
    const checked = chains.map((blocker): CheckedBlocker => {
      const entry = this.#entries.get(nameOf(jobRefOf(blocker)))
      return entry ? { typeName: blocker.typeName, input: entry.input } : { typeName: blocker.typeName }
    })
    await this.#options.registry.validateBlockers(typeName, checked)
    if (chains.length === 0) return {}
    if (chains.length > mostBlockers) {
      const message = `job '${job.id}' of '${typeName}' was given ${chains.length} blockers, and the limit is ${mostBlockers}`
      const data = { typeName, jobId: job.id, count: chains.length, limit: mostBlockers }
      throw new HoldfastError('TOO_MANY_BLOCKERS', message, data)
    }
    return { blockers: chains.map((blocker) => this.#blockerOf(blocker, job, chain, self)), onBlockerFailure }
  }

  /** A chain that was started for this job is named by its position, and written under it; any other by its name. */
  #blockerOf(blocker: ChainRef, { typeName, id }: JobToBlock, chain: JobRef, self: Entry): JobRef | number {
    const ref = jobRefOf(blocker)
    if (nameOf(ref) === nameOf(chain)) {
      const message = `job '${id}' of '${typeName}' cannot wait for its own chain`
      throw new HoldfastError('BLOCKER_OWN_CHAIN', message, { typeName, jobId: id })
    }
    const entry = this.#entries.get(nameOf(ref))
    if (entry?.under === self) return entry.index
    if (entry && !isWithin(self, entry.under)) {
      const message = `blocker '${ref.id}' of '${blocker.typeName}' is started for another chain, and may not be written`
      throw new JobTypeValidationError('INVALID_BLOCKERS', typeName, message)
    }
    return ref
  }

  /** @throws INVALID_BLOCKERS if a chain was started and not returned: no job would wait for it */
  async #started(
    startBlockers: NonNullable<StartRequest['startBlockers']>,
    job: JobToBlock,
    self: Entry,
  ): Promise<readonly ChainRef[]> {
    const started = new Set<string>()
    const { tx } = this.#options
    const startJobChain = async (given: StartRequest): Promise<ChainRef> => {
      isGiven('startJobChain', given)
      if ('tx' in given) throw invalidArgument('tx', 'nothing: the chain is written with the job it blocks', given.tx)
      const ref = await this.#start(given, self)
      started.add(nameOf(jobRefOf(ref)))
      return ref
    }
    const chains = await startBlockers(tx === undefined ? { job, startJobChain } : { job, startJobChain, tx })
    startOptions.blockers.check('the chains of startBlockers', chains)
    for (const chain of chains) started.delete(nameOf(jobRefOf(chain)))
    if (started.size === 0) return chains
    const message = `startBlockers started ${started.size} chains that it did not return`
    throw new JobTypeValidationError('INVALID_BLOCKERS', job.typeName, message)
  }
}

/** Whether the entry was started by `under`, directly or not: then what `under` starts is written whenever the entry is. */
function isWithin(entry: Entry, under: Entry | undefined): boolean {
  for (let at: Entry | undefined = entry; ; at = at.under) {
    if (at === under) return true
    if (at === undefined) return false
  }
}

const nameOf = ({ type, id }: JobRef): string => `${type}\0${id}`
