// The events of chains: on the one channel of the process, and for the observer and the log of a client or worker, which
// are listeners of it. What the engine tells of attempts is told here in the words of chains.

import type { EngineEvent, Tell } from '../../engine/events.ts'
import { isWatched, teller } from '../../engine/events.ts'
import { isHoldfastError } from '../../errors.ts'
import type { AddVerdict, ClaimedJob, Ended, JobRef, NewJob } from '../../storage/storage.ts'
import { blockerError } from '../../engine/work/outcomes.ts'
import type { Log, LogEntry } from './log.ts'
import type { ChainEvent, Observer, ObserverEvent } from './observer.ts'
import { chainStartOf } from '../client/schedule.ts'

type Data = ChainEvent['data']
export type TellChains = (name: ObserverEvent, data: Data) => void

interface Listeners {
  readonly observer?: Partial<Observer>
  readonly log?: Log
  readonly workerId?: string
}

/** @param listeners.workerId of a worker */
export function chainTeller({ observer, log, workerId }: Listeners): { tell: Tell; tellChains: TellChains } {
  const isObserved = observer !== undefined || log !== undefined
  const tellEvent = teller<ChainEvent>((event) => hear(event, observer, log))
  const tellChains: TellChains = (name, data) => {
    if (isObserved || isWatched()) tellEvent({ name, data })
  }
  const tell = teller((event) => {
    if (isObserved || isWatched()) translate(event, tellChains, workerId)
  })
  return { tell, tellChains }
}

/** Whoever listens and throws harms nobody. */
function hear({ name, data }: ChainEvent, observer: Partial<Observer> | undefined, log: Log | undefined): void {
  try {
    observer?.[name]?.(data)
  } catch {
    // An observer has nobody to tell about itself.
  }
  if (isGauge(name)) return
  try {
    const entry: LogEntry = { event: name, level: levels[name] ?? 'info', message: messageOf(name, data), data }
    log?.('error' in data ? { ...entry, error: data.error } : entry)
  } catch {
    // Nor has a log.
  }
}

const isGauge = (name: ObserverEvent): boolean => name === 'jobTypeIdle' || name === 'jobTypeProcessing'

const levels: Readonly<Partial<Record<ObserverEvent, LogEntry['level']>>> = {
  workerError: 'error',
  notifierError: 'error',
  storageError: 'error',
  jobFailed: 'error',
  jobChainFailed: 'error',
  jobAttemptFailed: 'warn',
  jobAttemptLost: 'warn',
  jobStalled: 'warn',
  jobLeaseExpired: 'warn',
  notifyContextAbsent: 'warn',
  validationFailed: 'warn',
  jobAttemptStarted: 'debug',
  jobLeaseRenewed: 'debug',
}

/** 'jobAttemptStarted' of a greet job: "job attempt started: greet 0190…". */
function messageOf(name: ObserverEvent, { typeName, id, workerId }: Data): string {
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  if (typeof typeName === 'string') return `${words}: ${typeName}${typeof id === 'string' ? ` ${id}` : ''}`
  return typeof workerId === 'string' ? `${words}: ${workerId}` : words
}

/** An add: what was created, blocked or there before. */
export function tellAdded(
  tellChains: TellChains,
  jobs: readonly NewJob[],
  verdicts: readonly AddVerdict[],
  more: { readonly committed?: 'unknown'; readonly continues?: { readonly chain: JobRef } } = {},
): void {
  const { continues, ...rest } = more
  jobs.forEach(({ type, id }, index) => {
    const verdict = verdicts[index]!
    if (verdict.verdict === 'duplicate') {
      tellChains('jobDeduplicated', { typeName: type, id: verdict.job.id, by: verdict.by, ...rest })
    }
    if (verdict.verdict !== 'added') return
    const chain = continues && index === 0 ? continues.chain : { type, id }
    const about = { typeName: type, id, chainTypeName: chain.type, chainId: chain.id, ...rest }
    if (chain.id === id && chain.type === type) tellChains('jobChainCreated', { typeName: type, id, ...rest })
    tellChains('jobCreated', about)
    if (verdict.job.state === 'blocked') tellChains('jobBlocked', about)
  })
}

// ── what the engine tells ────────────────────────────────────────────────────────────────────────────────────────────

function translate(event: EngineEvent, tell: TellChains, workerId: string | undefined): void {
  const of = 'job' in event && event.job ? { ...aboutJob(event.job), workerId } : undefined
  switch (event.name) {
    case 'worker_online':
      return tell('workerStarted', { workerId, typeNames: event.types })
    case 'worker_offline':
      return tell('workerStopped', { workerId, typeNames: event.types })
    case 'error':
      return tell(isHoldfastError(event.error, 'STORAGE_ERROR') ? 'storageError' : 'workerError', {
        workerId,
        error: event.error,
      })
    case 'started':
      return tell('jobAttemptStarted', of!)
    case 'renewed':
      return tell('jobLeaseRenewed', of!)
    case 'lease_expired':
      return tell('jobLeaseExpired', of!)
    case 'stalled':
      return tell('jobStalled', { ...aboutRef(event), workerId })
    case 'fenced':
      return tell('jobAttemptLost', { ...aboutRef(event), attempt: event.attempt, reason: event.verdict, workerId })
    case 'released':
      return tell('jobAttemptReleased', of!)
    case 'failing':
      return tell('jobAttemptFailed', {
        ...of,
        error: event.error,
        runAt: event.runAt,
        durationMs: event.durationMs,
      })
    case 'completed':
      return tellCompleted(event, tell, workerId)
    case 'failed':
      return tellFailed(event, tell, workerId)
    case 'cancelled':
      tell('jobChainCancelled', aboutRef(event.job?.chain ?? event.chain ?? event))
      return tellFailedWith(tell, event.verdict?.ended ?? [])
    default:
      return undefined
  }
}

function tellCompleted(
  { job, verdict, durationMs, result }: EngineEvent & { name: 'completed' },
  tell: TellChains,
  workerId: string | undefined,
): void {
  if (!job || !verdict) return
  const about = { ...aboutJob(job), workerId }
  tell('jobAttemptCompleted', { ...about, durationMs })
  const sinceCreatedMs = job.startedAt - job.createdAt + durationMs
  tell('jobCompleted', { ...about, durationMs: sinceCreatedMs })
  const [next] = verdict.added
  const continued = isContinuation(result)
  if (!continued) {
    const chainMs = job.startedAt + durationMs - (chainStartOf(job) ?? NaN)
    const known = Number.isNaN(chainMs) ? {} : { durationMs: chainMs }
    tell('jobChainCompleted', { typeName: job.chain.type, id: job.chain.id, output: result, ...known })
  } else if (next) {
    tellAdded(tell, result.jobs, verdict.added, { continues: job })
  }
  for (const ref of verdict.unblocked) tell('jobUnblocked', aboutRef(ref))
}

function tellFailed(
  { job, verdict, error, reason, type, id, chain = { type, id }, durationMs }: EngineEvent & { name: 'failed' },
  tell: TellChains,
  workerId: string | undefined,
): void {
  const cause = error.lastError
  if (job) {
    const about = { ...aboutJob(job), workerId, error: cause }
    tell('jobAttemptFailed', { ...about, durationMs })
    tell('jobFailed', about)
    tell('jobChainFailed', { typeName: job.chain.type, id: job.chain.id, error: cause })
  } else {
    const about = { chainTypeName: chain.type, chainId: chain.id, workerId }
    tell('jobFailed', { ...aboutRef({ type, id }), ...about, reason, error: cause })
    tell('jobChainFailed', { ...aboutRef(chain), reason, error: cause })
  }
  tellFailedWith(tell, verdict?.ended ?? [])
}

/** Those that waited for a chain which failed or was cancelled, and ended with it. */
export function tellFailedWith(tell: TellChains, ended: readonly Ended[], more: { committed?: 'unknown' } = {}): void {
  for (const { type, id, chain, reason } of ended) {
    const error = blockerError(id)
    tell('jobFailed', { typeName: type, id, chainTypeName: chain.type, chainId: chain.id, reason, error, ...more })
    tell('jobChainFailed', { typeName: chain.type, id: chain.id, reason, error, ...more })
  }
}

/** The value of an attempt that continued: the jobs that were to be added. */
export class Continued {
  readonly jobs: readonly NewJob[]

  constructor(jobs: readonly NewJob[]) {
    this.jobs = jobs
  }
}

const isContinuation = (value: unknown): value is Continued => value instanceof Continued

const aboutRef = ({ type, id }: JobRef) => ({ typeName: type, id })

const aboutJob = (job: ClaimedJob) => ({
  ...aboutRef(job),
  chainTypeName: job.chain.type,
  chainId: job.chain.id,
  chainIndex: job.chainIndex,
  attempt: job.attempt,
  failures: job.failures,
})
