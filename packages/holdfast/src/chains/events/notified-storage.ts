// A storage whose hints go through a notifier of the user's, after the commit of each move. A notifier that fails is an event and
// never a failure: the fallback poll finds the jobs.

import { asError } from '../../error-details.ts'
import { isTerminal } from '../../storage/rules/job/states.ts'
import type { GuardedStorage } from '../../engine/guard.ts'
import type {
  ClaimedJob,
  ClaimRequest,
  JobRef,
  LeaseRef,
  Outcome,
  SettleVerdict,
  Signal,
  TopicKind,
} from '../../storage/storage.ts'
import { isOwnType, typeNameOf, typeOf } from '../job/stored-type.ts'
import { afterCommit } from '../transactions/after-commit.ts'
import type { PublishChainEvent } from './chain-events.ts'
import type { Notifier } from './notifier.ts'

export function notifiedStorage(
  storage: GuardedStorage,
  notifier: Notifier,
  publishChainEvent: PublishChainEvent,
): GuardedStorage {
  const reported = new Set<string>()
  const chains = new ClaimedChains()
  const fail = (thrown: unknown): void => publishChainEvent('notifierError', { error: asError(thrown) })

  const send = (signals: readonly Signal[]): void => {
    try {
      Promise.resolve(notifier.notify(signals)).catch(fail)
    } catch (thrown) {
      fail(thrown)
    }
  }
  const notify = (hints: Hints, tx?: unknown): void => {
    const { signals } = hints
    if (signals.length === 0) return
    afterCommit(tx, (committed) => {
      if (committed !== 'unknown') return send(signals)
      for (const { type: typeName } of signals) {
        if (reported.has(typeName)) continue
        reported.add(typeName)
        publishChainEvent('notifyContextAbsent', { typeName })
      }
    })
  }

  return {
    ...storage,
    // The job that an add hands over comes with the storage's own hint, which no worker hears here.
    features: { ...storage.features, handsOver: false },
    async listen(topics, onSignal) {
      // A notifier carries hints about job types alone. Changes of schedules are found by their poll.
      if (!topics.every(({ type }) => isOwnType(type))) return async () => {}
      const named = topics.map(({ kind, type }) => ({ kind, type: typeNameOf(type) }))
      try {
        return await notifier.listen(named, (signal) => onSignal({ ...signal, type: typeOf(signal.type) }))
      } catch (thrown) {
        fail(thrown)
        return async () => {}
      }
    },
    async add(jobs, tx) {
      const verdicts = await storage.add(jobs, tx)
      const hints = new Hints()
      jobs.forEach(({ type }, index) => verdicts[index]!.verdict === 'added' && hints.add('wake', type))
      notify(hints, tx)
      return verdicts
    },
    async settle(outcomes, tx) {
      const verdicts = await storage.settle(outcomes, tx)
      const hints = new Hints()
      hintOutcomes(hints, chains, outcomes, verdicts)
      notify(hints, tx)
      return verdicts
    },
    async claim(request: ClaimRequest) {
      const claim = await storage.claim(request)
      const hints = new Hints()
      hintOutcomes(hints, chains, request.outcomes ?? [], claim.settled)
      for (const job of claim.jobs) chains.add(job)
      for (const { type, id } of claim.recovered) hints.add('abort', type, id)
      for (const { type, id } of claim.ended) hints.add('done', type, id)
      notify(hints)
      return claim
    },
    async cancel(jobs, options) {
      const verdicts = await storage.cancel(jobs, options)
      const hints = new Hints()
      jobs.forEach((job, index) => verdicts[index]!.verdict === 'cancelled' && hintEnd(hints, job))
      notify(hints)
      return verdicts
    },
    async revive(jobs, options) {
      const verdicts = await storage.revive(jobs, options)
      const hints = new Hints()
      for (const { type } of jobs) hints.add('wake', type)
      notify(hints, options?.tx)
      return verdicts
    },
    async remove(jobs, options) {
      const verdicts = await storage.remove(jobs, options)
      const hints = new Hints()
      jobs.forEach((job, index) => verdicts[index]!.verdict === 'removed' && hintEnd(hints, job))
      notify(hints, options?.tx)
      return verdicts
    },
  }
}

function hintEnd(hints: Hints, { type, id }: JobRef): void {
  hints.add('done', type, id)
  hints.add('abort', type, id)
}

function hintOutcomes(
  hints: Hints,
  chains: ClaimedChains,
  outcomes: readonly Outcome[],
  verdicts: readonly SettleVerdict[],
): void {
  outcomes.forEach((outcome, index) => {
    const verdict = verdicts[index]!
    const chain = 'chain' in outcome ? outcome.chain : chains.take(outcome)
    if (verdict.verdict !== 'settled') return
    if (!isTerminal(verdict.state)) hints.add('wake', outcome.type)
    for (const item of verdict.added) if (item.verdict === 'added') hints.add('wake', item.job.type)
    for (const { type } of verdict.unblocked) hints.add('wake', type)
    for (const { type, id } of verdict.ended) hints.add('done', type, id)
    if ('chain' in outcome) hints.add('abort', outcome.type, outcome.id)
    if (isTerminal(verdict.state) && outcome.kind !== 'continued') hints.add('done', chain.type, chain.id)
  })
}

/** Signals for the notifier, merged by topic. */
class Hints {
  readonly #topics = new Map<string, { kind: TopicKind; type: string; ids: Set<string> | undefined }>()

  get signals(): Signal[] {
    return [...this.#topics.values()].map(({ kind, type, ids }) => {
      const topic = { kind, type: typeNameOf(type) }
      return ids ? { ...topic, ids: [...ids] } : topic
    })
  }

  add(kind: TopicKind, type: string, id?: string): void {
    const name = `${kind} ${type}`
    const topic = this.#topics.get(name)
    if (!topic) this.#topics.set(name, { kind, type, ids: id === undefined ? undefined : new Set([id]) })
    else if (id !== undefined) topic.ids?.add(id)
    else topic.ids = undefined
  }
}

/** The chains of claimed jobs: an outcome names its attempt alone, and may end the chain. */
class ClaimedChains {
  readonly #chains = new Map<string, JobRef>()

  add(job: ClaimedJob): void {
    // Entries of lost leases are never taken: the oldest go when the map is full.
    if (this.#chains.size > 20_000) this.#chains.delete(this.#chains.keys().next().value!)
    this.#chains.set(fenceOf(job), job.chain)
  }

  take(lease: LeaseRef): JobRef {
    const fence = fenceOf(lease)
    const chain = this.#chains.get(fence) ?? lease
    this.#chains.delete(fence)
    return chain
  }
}

const fenceOf = ({ type, id, worker, attempt }: LeaseRef): string => `${worker} ${attempt} ${type} ${id}`
