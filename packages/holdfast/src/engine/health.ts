// The health of a queue or worker, from what it knows already: asking for it costs no call to the storage.

/**
 * - `not_started`: it was not started, or is stopped or stopping.
 * - `storage_unavailable`: the storage has not answered for 10 s.
 * - `claims_failing`: the storage answers, but claims have failed for 10 s. Due jobs are not run.
 * - `claims_late`: a claim is overdue by 10 s, although slots are free. Due jobs are not run.
 * - `handlers_abandoned`: handlers go on although their attempts are over.
 * - `failed`: the health itself could not be read.
 */
export type HealthCode =
  | 'not_started'
  | 'storage_unavailable'
  | 'claims_failing'
  | 'claims_late'
  | 'handlers_abandoned'
  | 'failed'

/** Why something is not healthy. */
export interface HealthReason {
  readonly code: HealthCode
  /** What happened, for people. */
  readonly sentence: string
}

/** What health() returns, on every face. */
export interface Health {
  /** True if there is no reason against it. */
  readonly ok: boolean
  /** What it is the health of, such as `queue 'mail'`. */
  readonly name: string
  /** The decisive reason first. */
  readonly reasons: readonly HealthReason[]
  /** Handlers that run now. */
  readonly slotsUsed: number
  /** Handlers that may run at a time; 0 without a handler. */
  readonly slots: number
  /** Handlers that go on although their attempts are lost. */
  readonly abandoned: number
}

/** What an engine's worker knows about itself. Durations are in ms. */
export interface WorkerState {
  readonly slots: number
  readonly slotsUsed: number
  readonly abandoned: number
  /** How long claims have failed without a success between. */
  readonly claimsFailingMs: number
  /** How much the next claim is overdue. */
  readonly claimLateMs: number
}

/** Time after which a failure is no longer taken for a passing one, in ms. */
const unhealthyMs = 10_000

/**
 * @param unansweredMs how long the storage has not answered
 * @param worker undefined: it runs no handler, which is healthy
 */
export function healthOf(
  name: string,
  isStarted: boolean,
  unansweredMs: number,
  worker: WorkerState | undefined,
): Health {
  const { slots, slotsUsed, abandoned, claimsFailingMs, claimLateMs } = worker ?? noWorker
  const reasons: HealthReason[] = []
  const add = (code: HealthCode, sentence: string): void =>
    void reasons.push({ code, sentence: `${name}: ${sentence}` })
  if (!isStarted) add('not_started', 'it is not running. Call start().')
  if (unansweredMs >= unhealthyMs) {
    add('storage_unavailable', `the storage has not answered for ${seconds(unansweredMs)}. Calls are retried.`)
  } else if (claimsFailingMs >= unhealthyMs) {
    add('claims_failing', `claims have failed for ${seconds(claimsFailingMs)}. Due jobs wait; claims are retried.`)
  }
  if (claimLateMs >= unhealthyMs) {
    add('claims_late', `the next claim is late by ${seconds(claimLateMs)}, and slots are free. Due jobs wait.`)
  }
  if (abandoned > 0) {
    add(
      'handlers_abandoned',
      `${abandoned} of ${slots} handlers go on although their attempts are over. Let handlers end when their signal aborts.`,
    )
  }
  return { ok: reasons.length === 0, name, reasons, slotsUsed, slots, abandoned }
}

/** The health of several workers that are one thing to their user: the sums, and every reason. */
export function healthOfAll(name: string, parts: readonly Health[]): Health {
  const sum = (field: 'slots' | 'slotsUsed' | 'abandoned'): number => parts.reduce((all, part) => all + part[field], 0)
  return {
    ok: parts.every(({ ok }) => ok),
    name,
    reasons: parts.flatMap(({ reasons }) => reasons),
    slotsUsed: sum('slotsUsed'),
    slots: sum('slots'),
    abandoned: sum('abandoned'),
  }
}

/** The state of a worker that does not run: before its start, and after its stop. */
export const idleState = (slots: number): WorkerState => ({
  slots,
  slotsUsed: 0,
  abandoned: 0,
  claimsFailingMs: 0,
  claimLateMs: 0,
})

const noWorker = idleState(0)

const seconds = (ms: number): string => `${Math.floor(ms / 1_000)} s`
