// Chains to start and jobs to continue with, gathered as one batch for the storage: a job first, the chains that were
// started to block it behind it. Nothing is written here.

import type { Clock } from '../clock.ts'
import { HoldfastError, invalidArgument, JobTypeValidationError } from '../errors.ts'
import { continueOptions, deduplicationOptions, startOptions } from './options.ts'
import { resolveOptions } from '../resolve-options.ts'
import type { ClaimedJob, Deduplication, JobRef, NewJob, Retention } from '../storage/storage.ts'
import { encodeJson } from './json.ts'
import { chainRefOf, jobRefOf } from './reading.ts'
import type { ChainRef, TraceContext } from './records.ts'
import type { CheckedBlocker, JobTypeRegistry } from './registry.ts'
import { encodeTrace, whenOf } from './schedule.ts'
import type { ChainDeduplication, OnBlockerFailure, Schedule } from './starting.ts'

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

/** A chain of the batch: where it stands, and the input as it was handed in. */
interface Placed {
  readonly index: number
  readonly input: unknown
}

/** The job that a continuation follows. */
export type Predecessor = Pick<ClaimedJob, 'type' | 'id' | 'chain' | 'priority' | 'trace' | 'retention'>

const mostBlockers = 1_000

export class Starts {
  readonly #options: StartsOptions
  readonly #token: string
  readonly #jobs: (NewJob | undefined)[] = []
  readonly #placed = new Map<string, Placed>()

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
    const request = resolveOptions('startJobChain', given, startOptions) as StartRequest
    startOptions.typeName.check('typeName', request.typeName)
    // Before anything is awaited: a blocker stands behind what it blocks, in the order of the calls.
    const index = this.#jobs.push(undefined) - 1
    const { typeName, deduplication, traceContext } = request
    const id = request.id ?? this.#options.clock.newId()
    const ref = { type: typeName, id }
    this.#placed.set(nameOf(ref), { index, input: request.input })
    await this.#options.registry.validateEntry(typeName)
    const unique = deduplication && deduplicationOf(deduplication)
    const { retention } = this.#options
    this.#jobs[index] = {
      ...(await this.#jobOf(request, ref, ref)),
      deduplication: unique,
      // A chain that a window may still have to name lives as long.
      retention: unique?.windowMs === undefined ? retention : keptAtLeast(retention, unique.windowMs),
      trace: traceContext && encodeTrace(traceContext),
    }
    return chainRefOf(ref)
  }

  /** The continuation: the first of its batch. @throws as start() */
  async next(given: StartRequest, predecessor: Predecessor): Promise<NewJob> {
    const request = resolveOptions('continueWith', given, continueOptions) as StartRequest
    startOptions.typeName.check('typeName', request.typeName)
    this.#jobs.push(undefined)
    const { typeName, input } = request
    await this.#options.registry.validateContinueWith(predecessor.type, { typeName, input })
    const { priority, trace, retention, chain } = predecessor
    const ref = { type: typeName, id: this.#options.clock.newId() }
    const job = { priority, ...(await this.#jobOf(request, ref, chain)), trace, retention }
    this.#jobs[0] = job
    return job
  }

  async #jobOf(request: StartRequest, ref: JobRef, chain: JobRef): Promise<NewJob> {
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
      ...(await this.#blockersOf(request, { ...chainRefOf(ref), chainId: chain.id, input }, chain)),
    }
  }

  async #blockersOf(
    request: StartRequest,
    job: ChainRef & { chainId: string; input: unknown },
    chain: JobRef,
  ): Promise<Pick<NewJob, 'blockers' | 'onBlockerFailure'>> {
    const { typeName, startBlockers, onBlockerFailure } = request
    if (startBlockers && request.blockers)
      throw invalidArgument('blockers', 'no startBlockers beside it', request.blockers)
    const chains = startBlockers ? await this.#started(startBlockers, job) : (request.blockers ?? [])
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
      return this.#placed.get(nameOf(ref))?.index ?? ref
    })
    return { blockers, onBlockerFailure }
  }

  /** Each that it starts must be one that it returns: otherwise it would be started for nobody. */
  async #started(
    startBlockers: NonNullable<StartRequest['startBlockers']>,
    job: ChainRef & { chainId: string; input: unknown },
  ): Promise<readonly ChainRef[]> {
    const started = new Set<string>()
    const { tx } = this.#options
    const context = {
      job,
      startJobChain: async (given: StartRequest): Promise<ChainRef> => {
        if ('tx' in given) throw invalidArgument('tx', 'nothing: the chain is written with the job it blocks', given.tx)
        const ref = await this.start(given)
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
