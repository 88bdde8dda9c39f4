// Planted defects, to see that a run finds them (`--plant`). Each breaks the contract in one place, rarely
// enough that the rest of the run continues.

import type { Storage } from 'holdfast'
import type {
  AddVerdict,
  Claim,
  ClaimRequest,
  Extension,
  JobRef,
  Limits,
  NewJob,
  Outcome,
  PauseRequest,
  Revival,
  ReviveOptions,
  SettleVerdict,
} from 'holdfast/storage'
import { type CallWrapper, wrapStorage } from './wrap-storage.ts'
import { HintThief } from './hint-thief.ts'
import { LastReports } from './last-reports.ts'
import { type HeldOutcome, LateCompletions } from './late-completions.ts'
import { typeOf } from './jobs.ts'
import { tenantKeys } from './limits.ts'
import { slotOf } from './schedule.ts'

export const plants = [
  'lost',
  'stale',
  'forgotten',
  'early',
  'torn',
  'misordered',
  'paused',
  'reports',
  'staleReport',
  'redrive',
  'limits',
  'rate',
  'slowed',
  'turns',
  'slots',
  'keys',
  'handed',
] as const

/** Number of calls per defect. */
const every = 25

/** @param list of defects, separated by commas */
export function plant(storage: Storage, list: string | undefined): Storage {
  let planted = storage
  for (const defect of (list?.split(',') ?? []) as (typeof plants)[number][]) {
    planted = wrapStorage(planted, defects(planted)[defect])
  }
  return planted
}

function defects(storage: Storage): Record<(typeof plants)[number], CallWrapper> {
  let calls = 0
  const isTurn = (): boolean => ++calls % every === 0
  const isFirstOrTurn = (): boolean => calls++ % every === 0
  const late = new LateCompletions(storage)
  const lastReports = new LastReports(storage)
  const hintThief = new HintThief()
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
    /** Higher priorities come last. */
    misordered: async (verb, args, call) => {
      if (verb !== 'add') return call()
      const jobs = args[0] as readonly NewJob[]
      return storage.add(
        jobs.map((job) => ({ ...job, priority: -(job.priority ?? 0) })),
        args[1],
      )
    },
    /** A pause is acknowledged and not written. */
    paused: async (verb, args, call) => {
      if (verb === 'pause' && (args[0] as PauseRequest).paused) return undefined
      return call()
    },
    /** The lines of an outcome are stored twice. */
    reports: async (verb, args, call) => {
      if (verb === 'settle') return storage.settle((args[0] as readonly Outcome[]).map(withLinesTwice), args[1])
      const request = args[0] as ClaimRequest
      if (verb !== 'claim' || !request.outcomes) return call()
      return storage.claim({ ...request, outcomes: request.outcomes.map(withLinesTwice) })
    },
    /** A report ignores its fence: the next run of the job shows that of the last one. */
    staleReport: async (verb, args, call) => {
      const answer = await call()
      if (verb === 'extend') lastReports.keep(args[0] as readonly Extension[])
      if (verb === 'settle') lastReports.keep(args[0] as readonly Outcome[])
      if (verb !== 'claim') return answer
      lastReports.keep((args[0] as ClaimRequest).outcomes ?? [])
      await lastReports.storeAgain(args[0] as ClaimRequest, answer as Claim)
      return answer
    },
    /** A redrive keeps the old payload. */
    redrive: async (verb, args, call) => {
      if (verb !== 'revive' || !isFirstOrTurn()) return call()
      const jobs = args[0] as readonly Revival[]
      return storage.revive(
        jobs.map(({ type, id }) => ({ type, id })),
        args[1] as ReviveOptions,
      )
    },
    /** No limit of a type or group applies, and ordered groups are not ordered. */
    limits: async (verb, args, call) => {
      if (verb === 'add') {
        const jobs = args[0] as readonly NewJob[]
        return storage.add(jobs.map(unordered), args[1])
      }
      if (verb !== 'claim') return call()
      return storage.claim(withLimits(args[0] as ClaimRequest, ({ rate }) => ({ rate })))
    },
    /** No rate applies. */
    rate: async (verb, args, call) => {
      if (verb !== 'claim') return call()
      return storage.claim(withLimits(args[0] as ClaimRequest, (limits) => ({ ...limits, rate: undefined })))
    },
    /** A slow-down delays its own job alone. */
    slowed: async (verb, args, call) => {
      if (verb === 'settle') return storage.settle((args[0] as readonly Outcome[]).map(withoutSlowDown), args[1])
      const request = args[0] as ClaimRequest
      if (verb !== 'claim' || !request.outcomes) return call()
      return storage.claim({ ...request, outcomes: request.outcomes.map(withoutSlowDown) })
    },
    /** Groups take no turns, and one of them comes last. */
    turns: async (verb, args, call) => {
      if (verb === 'add') {
        const jobs = args[0] as readonly NewJob[]
        return storage.add(
          jobs.map((job) => (job.group?.key === tenantKeys[0] ? { ...job, priority: -100 } : job)),
          args[1],
        )
      }
      if (verb !== 'claim') return call()
      return storage.claim(withLimits(args[0] as ClaimRequest, unfair))
    },
    /** The process that fires a slot decides, not the key: each process has a job of its own. */
    slots: async (verb, args, call) => {
      if (verb !== 'add') return call()
      const jobs = args[0] as readonly NewJob[]
      return storage.add(
        jobs.map((job) => (slotOf(job.id) === undefined ? job : ofThisProcess(job))),
        args[1],
      )
    },
    /** Deduplication keys of callers are forgotten. */
    keys: async (verb, args, call) => {
      if (verb !== 'add') return call()
      const jobs = args[0] as readonly NewJob[]
      return storage.add(
        jobs.map(({ deduplication, ...job }) => (slotOf(job.id) === undefined ? job : { ...job, deduplication })),
        args[1],
      )
    },
    /** A job that was handed over to another worker is run here, too. */
    handed: async (verb, args, call) => {
      if (verb === 'claim' && (args[0] as ClaimRequest).offer) hintThief.offered(args[0] as ClaimRequest)
      if (verb !== 'listen') return call()
      const [topics, onSignal] = args as Parameters<Storage['listen']>
      return storage.listen(topics, (signal) => onSignal(hintThief.bend(signal)))
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

/** Changes the limits of a claim, if it has some. */
function withLimits(request: ClaimRequest, change: (limits: Limits) => Limits): ClaimRequest {
  const types = request.types.map((type) => (type.limits ? { ...type, limits: change(type.limits) } : type))
  return { ...request, types }
}

const unfair = ({ group, ...others }: Limits): Limits => ({ ...others, group: { ...group, fair: false } })

const unordered = (job: NewJob): NewJob => (job.group?.ordered ? { ...job, group: { key: job.group.key } } : job)

function withoutSlowDown(outcome: Outcome): Outcome {
  if (!('slowDown' in outcome)) return outcome
  const { slowDown: _, ...rest } = outcome
  return rest as Outcome
}

const ofThisProcess = (job: NewJob): NewJob => ({
  ...job,
  id: `${job.id}@${process.pid}`,
  deduplication: undefined,
})

/** The second time at later instants: a storage recognises lines by theirs. */
function withLinesTwice(outcome: Outcome): Outcome {
  if (!('log' in outcome) || !outcome.log || outcome.log.length === 0) return outcome
  const from = outcome.log.at(-1)!.at + 1
  const again = outcome.log.map((line, index) => ({ ...line, at: from + index }))
  return { ...outcome, log: [...outcome.log, ...again] }
}

const counted: SettleVerdict = { verdict: 'settled', state: 'completed', added: [], ended: [], unblocked: [] }

/** Whether the record exists at the end, with the attempts that were taken back. */
const isKeptCompletion = (outcome: Outcome): outcome is HeldOutcome =>
  outcome.kind === 'completed' && outcome.type === typeOf('kept') && 'worker' in outcome
