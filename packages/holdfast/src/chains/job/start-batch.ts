// Chains to start and jobs to continue with, gathered as one batch for the storage: a job first, the chains that were
// started to block it behind it. Nothing is written here.

import type { Clock } from '../../clock.ts'
import { HoldfastError, invalidArgument, JobTypeValidationError } from '../../errors.ts'
import { continueOptions, deduplicationOptions, startOptions } from '../options.ts'
import { resolveOptions } from '../../resolve-options.ts'
import type { ClaimedJob, Deduplication, JobRef, NewJob, Retention } from '../../storage/storage.ts'
import { encodeJson } from '../json.ts'
import { chainRefOf, jobRefOf } from './reading.ts'
import type { ChainRef, TraceContext } from '../types/records.ts'
import type { CheckedBlocker, JobTypeRegistry } from '../registry.ts'
import { chainStartOf, decodeTrace, encodeTrace, whenOf } from './schedule.ts'
import type { ChainDeduplication, OnBlockerFailure, Schedule } from '../types/start-options.ts'
import { producerSpan, type Span } from '../events/tracing.ts'

/** What startJobChain and continueWith are given, as the run time sees it. */
export interface StartRequest {
  readonly typeName: string
  readonly input: unknown
  readonly schedule?: Schedule
  readonly priority?: number
  readonly startBlockers?: (context: object) => Promise<readonly ChainRef[]>
  readonly blockers?: readonly ChainRef[]
  readonly onBlockerFailure?: OnBlockerFailure
  readonly id?: string
  readonly deduplication?: ChainDeduplication
  readonly traceContext?: TraceContext
}

export interface StartsOptions {
  readonly registry: JobTypeRegistry<unknown>
  readonly clock: Clock
  readonly retention: Retention
  /** For callbacks, where there is one. */
  readonly tx?: unknown
}

/** A chain of the batch: where it stands, the input as it was handed in, and the start that it came with, if not its own. */
interface Placed {
  readonly index: number
  readonly input: unknown
  readonly under: Placed | undefined
}

type ToBlock = ChainRef & { readonly chainId: string; readonly input: unknown }

/** The job that a continuation follows. */
export type Predecessor = Pick<
  ClaimedJob,
  'type' | 'id' | 'chain' | 'chainIndex' | 'createdAt' | 'priority' | 'trace' | 'retention'
>

const mostBlockers = 1_000

export class Starts {
  readonly #options: StartsOptions
  readonly #token: string
  readonly #jobs: (NewJob | undefined)[] = []
  readonly #placed = new Map<string, Placed>()
  readonly #spans: Span[] = []

  constructor(options: StartsOptions) {
    this.#options = options
    this.#token = options.clock.newId()
  }

  /** To be asked when all that was begun has ended. */
  get jobs(): readonly NewJob[] {
    return this.#jobs as readonly NewJob[]
  }

  /** @throws INVALID_ARGUMENT, JobTypeValidationError, SerializationError, and what `startBlockers` throws */
  async start(given: StartRequest): Promise<ChainRef> {
    return this.#start(given, undefined)
  }

  /** What was started is written, or will not be. */
  endSpans(error?: unknown): void {
    for (const span of this.#spans.splice(0)) span.end(error)
  }

  /** To be called when all were started. @throws BLOCKER_OWN_CHAIN if chains of the batch wait for one another in a circle */
  checkCircles(): void {
    const passed = new Set<number>()
    const visit = (index: number, path: readonly number[]): void => {
      if (path.includes(index)) {
        const { type, id } = this.#jobs[index]!
        const message = `chain '${id}' of '${type}' would wait for itself, by way of others that are started with it`
        throw new HoldfastError('BLOCKER_OWN_CHAIN', message, { typeName: type, jobId: id })
      }
      if (passed.has(index)) return
      for (const blocker of this.#jobs[index]!.blockers ?? []) {
        const next = typeof blocker === 'number' ? blocker : this.#placed.get(nameOf(blocker))?.index
        if (next !== undefined) visit(next, [...path, index])
      }
      passed.add(index)
    }
    this.#jobs.forEach((_, index) => visit(index, []))
  }

  async #start(given: StartRequest, under: Placed | undefined): Promise<ChainRef> {
    const request = resolveOptions('startJobChain', given, startOptions) as StartRequest
    startOptions.typeName.check('typeName', request.typeName)
    // Before anything is awaited: a blocker stands behind what it blocks, in the order of the calls.
    const index = this.#jobs.push(undefined) - 1
    const { typeName, deduplication, traceContext } = request
    const id = request.id ?? this.#options.clock.newId()
    const ref = { type: typeName, id }
    const placed = { index, input: request.input, under }
    // An id that is named twice is taken by its first mention.
    if (!this.#placed.has(nameOf(ref))) this.#placed.set(nameOf(ref), placed)
    await this.#options.registry.validateEntry(typeName)
    const unique = deduplication && deduplicationOf(deduplication)
    const trace = traceContext ?? this.#span(ref, ref, undefined)
    if (traceContext) this.#span(ref, ref, traceContext)
    const { retention } = this.#options
    this.#jobs[index] = {
      ...(await this.#jobOf(request, ref, ref, placed)),
      deduplication: unique,
      // A chain that a window may still have to name lives as long.
      retention: unique?.windowMs === undefined ? retention : keptAtLeast(retention, unique.windowMs),
      trace: encodeTrace(trace),
    }
    return chainRefOf(ref)
  }

  /** The continuation: the first of its batch. @throws as start() */
  async next(given: StartRequest, predecessor: Predecessor): Promise<NewJob> {
    const request = resolveOptions('continueWith', given, continueOptions) as StartRequest
    startOptions.typeName.check('typeName', request.typeName)
    const placed = { index: this.#jobs.push(undefined) - 1, input: request.input, under: undefined }
    const { typeName, input } = request
    await this.#options.registry.validateContinueWith(predecessor.type, { typeName, input })
    const { priority, retention, chain } = predecessor
    const ref = { type: typeName, id: this.#options.clock.newId() }
    const traceContext = this.#span(ref, chain, undefined) ?? decodeTrace(predecessor.trace).traceContext
    const trace = encodeTrace(traceContext, chainStartOf(predecessor))
    const job = { priority, ...(await this.#jobOf(request, ref, chain, placed)), trace, retention }
    this.#jobs[0] = job
    return job
  }

  #span(ref: JobRef, chain: JobRef, parent: TraceContext | undefined): TraceContext | undefined {
    const span = producerSpan(ref, chain, parent)
    if (span) this.#spans.push(span)
    return span?.traceContext
  }

  async #jobOf(request: StartRequest, ref: JobRef, chain: JobRef, placed: Placed): Promise<NewJob> {
    const { type } = ref
    const input = await this.#options.registry.parseInput(type, request.input)
    const payload = encodeJson('payload', type, input)
    const { priority } = request
    return {
      ...ref,
      token: this.#token,
      payload,
      retention: this.#options.retention,
      ...whenOf(request.schedule),
      ...(priority === undefined ? {} : { priority }),
      ...(await this.#blockersOf(request, { ...chainRefOf(ref), chainId: chain.id, input }, chain, placed)),
    }
  }

  async #blockersOf(
    request: StartRequest,
    job: ToBlock,
    chain: JobRef,
    self: Placed,
  ): Promise<Pick<NewJob, 'blockers' | 'onBlockerFailure'>> {
    const { typeName, startBlockers, onBlockerFailure } = request
    if (startBlockers && request.blockers)
      throw invalidArgument('blockers', 'no startBlockers beside it', request.blockers)
    const chains = startBlockers ? await this.#started(startBlockers, job, self) : (request.blockers ?? [])
    const checked = chains.map((blocker): CheckedBlocker => {
      const placed = this.#placed.get(nameOf(jobRefOf(blocker)))
      return placed ? { typeName: blocker.typeName, input: placed.input } : { typeName: blocker.typeName }
    })
    await this.#options.registry.validateBlockers(typeName, checked)
    if (chains.length === 0) return {}
    const about = { typeName, jobId: job.id }
    if (chains.length > mostBlockers) {
      const message = `job '${job.id}' was given ${chains.length} blockers, the limit is ${mostBlockers}`
      throw new HoldfastError('TOO_MANY_BLOCKERS', message, { ...about, count: chains.length, limit: mostBlockers })
    }
    const blockers = chains.map((blocker) => {
      const ref = jobRefOf(blocker)
      if (nameOf(ref) === nameOf(chain)) {
        throw new HoldfastError('BLOCKER_OWN_CHAIN', `job '${job.id}' cannot wait for its own chain`, about)
      }
      const placed = this.#placed.get(nameOf(ref))
      // Started for this job: it is written under it. Another of the batch is a chain of its own, and waited for by name.
      if (placed?.under === self) return placed.index
      if (placed && !isWithin(self, placed.under)) {
        const message = `chain '${ref.id}' of '${ref.type}' is started for another chain, and may not be written`
        throw new JobTypeValidationError('INVALID_BLOCKERS', typeName, message)
      }
      return ref
    })
    return { blockers, onBlockerFailure }
  }

  /** Each that it starts must be one that it returns: otherwise it would be started for nobody. */
  async #started(
    startBlockers: NonNullable<StartRequest['startBlockers']>,
    job: ToBlock,
    self: Placed,
  ): Promise<readonly ChainRef[]> {
    const started = new Set<string>()
    const { tx } = this.#options
    const context = {
      job,
      startJobChain: async (given: StartRequest): Promise<ChainRef> => {
        if ('tx' in given) throw invalidArgument('tx', 'nothing: the chain is written with the job it blocks', given.tx)
        const ref = await this.#start(given, self)
        started.add(nameOf(jobRefOf(ref)))
        return ref
      },
    }
    const chains = await startBlockers(tx === undefined ? context : { ...context, tx })
    startOptions.blockers.check('what startBlockers gives', chains)
    for (const chain of chains) started.delete(nameOf(jobRefOf(chain)))
    if (started.size === 0) return chains
    const message = `startBlockers started ${started.size} chains that it did not return`
    throw new JobTypeValidationError('INVALID_BLOCKERS', job.typeName, message)
  }
}

/** Whether it was started there, or further down: what stands there is written whenever it is. */
function isWithin(placed: Placed, under: Placed | undefined): boolean {
  for (let at: Placed | undefined = placed; ; at = at.under) {
    if (at === under) return true
    if (at === undefined) return false
  }
}

const nameOf = ({ type, id }: JobRef): string => `${type}\0${id}`

function deduplicationOf(given: ChainDeduplication): Deduplication {
  const { key, strategy, windowMs } = resolveOptions('deduplication', given, deduplicationOptions)
  deduplicationOptions.key.check('key', key)
  return { key, mode: strategy === 'all' ? 'throttle' : 'simple', windowMs }
}

const keptAtLeast = (retention: Retention, ms: number): Retention => ({
  ...retention,
  completedMs: Math.max(retention.completedMs, ms),
})
