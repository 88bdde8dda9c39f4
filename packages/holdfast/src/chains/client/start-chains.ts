// startJobChain and startJobChains: everything is validated and serialised, then written in one add.

import { Adder, asIs } from '../../engine/job/adder.ts'
import { replacesPayload } from '../../engine/job/deduplication.ts'
import { mayBeRefused } from '../../engine/limits/add-limits.ts'
import type { AddVerdict, NewJob, Retention } from '../../storage/storage.ts'
import type { Dependencies } from '../dependencies.ts'
import { publishAdded } from '../events/chain-events.ts'
import type { PlainChain } from '../job/records.ts'
import { StartBatch } from '../job/start-batch.ts'
import type { StartRequest } from '../job/start-request.ts'
import { afterCommit } from '../transactions/after-commit.ts'
import type { ChainRef } from '../types/records.ts'
import { existingChains } from './existing-chains.ts'
import { asDuplicate, type StartedChain, startedChains } from './start-result.ts'

export class ChainStarter {
  readonly #dependencies: Dependencies
  readonly #retention: Retention
  readonly #adder: Adder

  constructor(dependencies: Dependencies, retention: Retention) {
    this.#dependencies = dependencies
    this.#retention = retention
    const { storage, clock } = dependencies
    this.#adder = new Adder(clock.newId(), (jobs) => storage.add(jobs), storage.settings.addsPerCall)
  }

  /** All of them or none. @throws INVALID_ARGUMENT, JobTypeValidationError, SerializationError, BLOCKER_NOT_FOUND, DUPLICATE_JOB, QUEUE_FULL, GROUP_KIND */
  async start(requests: readonly StartRequest[], tx: unknown): Promise<StartedChain[]> {
    const { storage, addLimits, publishChainEvent } = this.#dependencies
    const existing = await existingChains(storage, requests, tx)
    if (existing.size > 0) return this.#startOthers(requests, existing, tx)
    if (tx === undefined) await addLimits.ready()
    else addLimits.readyInTransaction()
    const { refs, jobs, verdicts } = await this.#write(requests, tx)
    afterCommit(tx, (committed) => {
      publishAdded(publishChainEvent, jobs, verdicts, committed === 'unknown' ? { committed } : {})
    })
    return startedChains(storage, refs, jobs, verdicts, tx)
  }

  async #write(
    requests: readonly StartRequest[],
    tx: unknown,
  ): Promise<{ refs: ChainRef[]; jobs: readonly NewJob[]; verdicts: readonly AddVerdict[] }> {
    const { registry, clock, addLimits } = this.#dependencies
    const isSingle = requests.length === 1
    const applyLimits = (job: NewJob): void => addLimits.apply(job)
    const batch = new StartBatch({ registry, clock, retention: this.#retention, applyLimits, tx, isSingle })
    try {
      const refs = await allInOrder(requests, (request) => batch.start(request))
      batch.checkCycles()
      const { jobs } = batch
      const verdicts = await this.#add(jobs, tx)
      batch.endSpans()
      return { refs, jobs, verdicts }
    } catch (error) {
      batch.endSpans(error)
      throw error
    }
  }

  /** A start that is known to be a duplicate is not written, and its `startBlockers` is not called. */
  async #startOthers(
    requests: readonly StartRequest[],
    existing: ReadonlyMap<StartRequest, PlainChain>,
    tx: unknown,
  ): Promise<StartedChain[]> {
    const others = requests.filter((request) => !existing.has(request))
    const renamed = others.map((request) => withExistingBlockers(request, existing))
    const started = others.length > 0 ? await this.start(renamed, tx) : []
    afterCommit(tx, (committed) => {
      const more = committed === 'unknown' ? { committed } : {}
      for (const [{ deduplication }, { typeName, id }] of existing) {
        this.#dependencies.publishChainEvent('jobDeduplicated', {
          typeName,
          id,
          by: deduplication ? 'key' : 'id',
          ...more,
        })
      }
    })
    return requests.map((request) => {
      const chain = existing.get(request)
      return chain ? asDuplicate(chain) : started[others.indexOf(request)]!
    })
  }

  /** Starts of one tick that are a single job each go to the storage together. */
  async #add(jobs: readonly NewJob[], tx: unknown): Promise<readonly AddVerdict[]> {
    const [job] = jobs
    if (jobs.length === 1 && tx === undefined && !job!.blockers) {
      const isReplacing = job!.deduplication !== undefined && replacesPayload(job!.deduplication)
      const hasOwnToken = isReplacing || mayBeRefused(job!)
      return [await this.#adder.add(hasOwnToken ? job! : { ...job!, token: undefined }, asIs)]
    }
    return jobs.length === 0 ? [] : this.#dependencies.storage.add(jobs, tx)
  }
}

/** A blocker that names a duplicate of the same batch means the chain that exists. */
function withExistingBlockers(request: StartRequest, existing: ReadonlyMap<StartRequest, PlainChain>): StartRequest {
  if (!request.blockers) return request
  const blockers = request.blockers.map((blocker) => {
    const found = [...existing].find(([{ typeName, id }]) => id === blocker.id && typeName === blocker.typeName)
    return found ? { typeName: found[1].typeName, id: found[1].id } : blocker
  })
  return { ...request, blockers }
}

/** Begins all of them in order, and waits for all; then throws the first rejection, if there is one. */
async function allInOrder<A, B>(items: readonly A[], run: (item: A) => Promise<B>): Promise<B[]> {
  const results = await Promise.allSettled(items.map(run))
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}
