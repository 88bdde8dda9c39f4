// Planted defects, to see that a run finds them (`--plant`). Each breaks the contract in one place, rarely
// enough that the rest of the run continues.

import type { Storage } from 'holdfast'
import type { AddVerdict, Extension, JobRef, NewJob, Outcome, SettleVerdict } from 'holdfast/storage'
import { type CallWrapper, wrapStorage } from './wrap-storage.ts'
import { type HeldOutcome, LateCompletions } from './late-completions.ts'
import { typeOf } from './jobs.ts'

export const plants = ['lost', 'stale', 'forgotten', 'early', 'torn'] as const

/** Number of calls per defect. */
const every = 25

export function plant(storage: Storage, defect: string | undefined): Storage {
  if (defect === undefined) return storage
  return wrapStorage(storage, defects(storage)[defect as (typeof plants)[number]])
}

function defects(storage: Storage): Record<(typeof plants)[number], CallWrapper> {
  let calls = 0
  const isTurn = (): boolean => ++calls % every === 0
  const isFirstOrTurn = (): boolean => calls++ % every === 0
  const late = new LateCompletions(storage)
  return {
    /** An add is acknowledged and never written. */
    lost: async (verb, args, call) => {
      if (verb !== 'add' || !isTurn()) return call()
      const jobs = args[0] as readonly (JobRef & { token: string })[]
      return jobs.map(({ type, id, token }): AddVerdict => {
        return { verdict: 'added', job: { type, id, token, state: 'queued' } }
      })
    },
    /** A completion ignores its fence: a refused one is answered as settled. */
    stale: async (verb, args, call) => {
      if (verb === 'extend') return late.extend(args[0] as readonly Extension[])
      if (verb !== 'settle' && verb !== 'claim') return call()
      const outcomes = verb === 'settle' ? args[0] : (args[0] as { outcomes?: readonly Outcome[] }).outcomes
      const completion = (outcomes as readonly Outcome[] | undefined)?.find(isKeptCompletion)
      // Including the first of each process, so that it happens even if few processes are stopped.
      if (completion && isFirstOrTurn()) await late.arrive(completion)
      const answer = await call()
      const verdicts = verb === 'settle' ? answer : (answer as { settled: readonly SettleVerdict[] }).settled
      const bent = (verdicts as SettleVerdict[]).map((verdict, index) => {
        const isStale = verdict.verdict === 'taken_by_another_worker' || verdict.verdict === 'already_completed'
        return isStale && (outcomes as readonly Outcome[])[index]!.kind === 'completed' ? counted : verdict
      })
      return verb === 'settle' ? bent : { ...(answer as object), settled: bent }
    },
    /** A job may run early. */
    early: async (verb, args, call) => {
      if (verb !== 'add' || !(args[0] as readonly NewJob[]).some(({ delayMs }) => delayMs)) return call()
      return storage.add((args[0] as readonly NewJob[]).map((job) => ({ ...job, delayMs: 0 })))
    },
    /** A job added in a transaction is written outside it. */
    torn: async (verb, args, call) => {
      if (verb !== 'add' || args[1] === undefined) return call()
      return storage.add(args[0] as readonly NewJob[])
    },
    /** A completed record is removed before its expiry. */
    forgotten: async (verb, args, call) => {
      const answer = await call()
      const outcomes = verb === 'claim' ? ((args[0] as { outcomes?: readonly Outcome[] }).outcomes ?? []) : []
      if (outcomes.length > 0 && isTurn()) await storage.remove(outcomes.map(({ type, id }) => ({ type, id })))
      return answer
    },
  }
}

const counted: SettleVerdict = { verdict: 'settled', state: 'completed', added: [], ended: [], unblocked: [] }

/** Whether the record exists at the end, with the attempts that were taken back. */
const isKeptCompletion = (outcome: Outcome): outcome is HeldOutcome =>
  outcome.kind === 'completed' && outcome.type === typeOf('kept') && 'worker' in outcome
