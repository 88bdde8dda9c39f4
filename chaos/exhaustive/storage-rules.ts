// What the storage of the model does with one job in one call. Each rule can be broken, to see that the checks notice.

import {
  addedJob,
  type Fence,
  isSame,
  isTerminal,
  type EndedAttempt,
  type Job,
  type JobState,
  type Outcome,
} from './state.ts'

export interface Rules {
  /** Failures in all; then the job has failed. */
  readonly maxAttempts: number
  /** Whether a write with this fence is the holder's. */
  isHolder(holder: Fence, fence: Fence): boolean
  /** A recovery looks again when it writes. */
  readonly recoverLooksAgain: boolean
  /** A holder whose lease is over, and which was not replaced, is accepted. */
  readonly acceptsLate: boolean
  /** A repeated settle is answered as the first. */
  readonly knowsRepeats: boolean
  /** A lost lease counts as a failure. */
  readonly countsLostLeases: boolean
  /** Not if it was held ahead, and its job may not have been started. */
  readonly sparesUnstarted: boolean
  /** After that, a job is claimed for a free slot only: it may be the one that ends its process. */
  readonly keepsForSlot: boolean
  /** A job that was asked to stop ends by anything but its completion as cancelled. */
  readonly keepsCancelling: boolean
  /** A heartbeat of an ended job is refused. */
  readonly refusesHeartbeatsOfEnded: boolean
  /** A claim leaves a job whose lease is not over to its holder. */
  readonly respectsLeases: boolean
  /** A new record under a used id begins with attempt 1; else a name of a claim repeats. */
  readonly numbersClaims: boolean
  /** A forced cancel ends the lease. */
  readonly forceEndsLease: boolean
}

export const soundRules: Rules = {
  maxAttempts: 2,
  isHolder: isSame,
  recoverLooksAgain: true,
  acceptsLate: true,
  knowsRepeats: true,
  countsLostLeases: true,
  sparesUnstarted: true,
  keepsForSlot: true,
  keepsCancelling: true,
  refusesHeartbeatsOfEnded: true,
  respectsLeases: true,
  numbersClaims: true,
  forceEndsLease: true,
}

export type CancelMode = 'plain' | 'abort' | 'force'

export type StorageCall =
  | { readonly verb: 'claim'; readonly fence: Omit<Fence, 'attempt'> }
  | { readonly verb: 'extend'; readonly fence: Fence }
  | { readonly verb: 'settle'; readonly fence: Fence; readonly outcome: Outcome }
  | { readonly verb: 'recover'; readonly fence: Fence }
  | { readonly verb: 'cancel'; readonly mode: CancelMode }
  | { readonly verb: 'revive' | 'add' }

export interface Answer {
  readonly job: Job
  readonly verdict: string
  /** The state that a settle was told. */
  readonly told?: JobState | undefined
  /** The fence that a claim got. */
  readonly fence?: Fence | undefined
}

export function applyCall(job: Job, call: StorageCall, rules: Rules): Answer {
  switch (call.verb) {
    case 'claim':
      return claim(job, call.fence, rules)
    case 'extend':
      return extend(job, call.fence, rules)
    case 'settle':
      return settle(job, call.fence, call.outcome, rules)
    case 'recover':
      return recover(job, call.fence, rules)
    case 'cancel':
      return cancel(job, call.mode, rules)
    case 'revive':
      return isFree(job)
        ? { job: { ...job, state: 'waiting', life: job.life + 1, failures: 0 }, verdict: 'revived' }
        : { job, verdict: 'not_revivable' }
    case 'add':
      return isFree(job) ? { job: addedJob(job.life + 1), verdict: 'added' } : { job, verdict: 'duplicate' }
  }
}

/** Its id is free, and it can be revived. */
const isFree = ({ state }: Job): boolean => state === 'failed' || state === 'cancelled'

function claim(job: Job, name: Omit<Fence, 'attempt'>, rules: Rules): Answer {
  const isTaken = job.state === 'held' && !job.over && rules.respectsLeases
  const free = job.state === 'held' && !isTaken ? takenBack(job, rules) : job
  if (free.state !== 'waiting' || (name.ahead && free.slotOnly)) return { job: free, verdict: 'nothing' }
  const fence: Fence = { ...name, attempt: free.attempt + 1 }
  const unstarted = name.ahead === true
  const held: Job = { ...free, state: 'held', attempt: fence.attempt, holder: fence, over: false, unstarted }
  return { job: held, verdict: 'claimed', fence }
}

function extend(job: Job, fence: Fence, rules: Rules): Answer {
  if (job.state === 'held' && rules.isHolder(job.holder!, fence)) {
    return { job: { ...job, over: false, unstarted: false }, verdict: job.cancelling ? 'cancelling' : 'extended' }
  }
  if (isTerminal(job.state) && !rules.refusesHeartbeatsOfEnded)
    return { job: { ...job, state: 'held', holder: fence, over: false }, verdict: 'extended' }
  return { job, verdict: refusalOf(job) }
}

function settle(job: Job, fence: Fence, outcome: Outcome, rules: Rules): Answer {
  const known = job.ended.find((one) => rules.isHolder(one.fence, fence))
  if (known && rules.knowsRepeats) {
    const isOwn = known.how !== 'stalled' && known.how !== 'cancelled'
    return isOwn ? { job, verdict: 'settled', told: known.state } : { job, verdict: refusalOf(job) }
  }
  const isHeld = job.state === 'held' && rules.isHolder(job.holder!, fence) && (rules.acceptsLate || !job.over)
  if (!isHeld) return { job, verdict: refusalOf(job) }
  const failures = job.failures + (outcome === 'retry' ? 1 : 0)
  const ended = endedBy(job, outcome, stateAfter(job, outcome, failures, rules))
  return { job: { ...ended, failures }, verdict: 'settled', told: ended.state }
}

function stateAfter({ cancelling }: Job, outcome: Outcome, failures: number, rules: Rules): JobState {
  if (outcome === 'completed') return 'completed'
  if (cancelling && rules.keepsCancelling) return 'cancelled'
  return outcome === 'retry' && failures >= rules.maxAttempts ? 'failed' : 'waiting'
}

/** Ends the attempt of the holder. */
function endedBy(job: Job, how: EndedAttempt['how'], state: JobState): Job {
  const ended = [...job.ended, { fence: job.holder!, how, state }]
  return { ...job, state, holder: undefined, over: false, cancelling: false, unstarted: false, ended }
}

function takenBack(job: Job, rules: Rules): Job {
  const isSpared = job.unstarted && rules.sparesUnstarted
  const failures = job.failures + (rules.countsLostLeases && !isSpared ? 1 : 0)
  const isLast = failures >= rules.maxAttempts
  const state = job.cancelling && rules.keepsCancelling ? 'cancelled' : isLast ? 'failed' : 'waiting'
  const slotOnly = rules.keepsForSlot && (job.slotOnly || job.holder!.ahead === true)
  return { ...endedBy(job, 'stalled', state), failures, slotOnly }
}

/** @param fence of the lease that the recovery saw */
function recover(job: Job, fence: Fence, rules: Rules): Answer {
  const isLost = job.state === 'held' && job.over && isSame(job.holder!, fence)
  if (isLost) return { job: takenBack(job, rules), verdict: 'recovered' }
  if (rules.recoverLooksAgain) return { job, verdict: 'nothing' }
  return { job: { ...job, state: 'waiting', holder: undefined, failures: job.failures + 1 }, verdict: 'recovered' }
}

function cancel(job: Job, mode: CancelMode, rules: Rules): Answer {
  if (isTerminal(job.state)) return { job, verdict: job.state }
  if (job.state === 'waiting') return { job: { ...job, state: 'cancelled' }, verdict: 'cancelled' }
  if (mode === 'plain') return { job, verdict: 'processing' }
  if (mode === 'abort') return { job: { ...job, cancelling: true }, verdict: 'cancelling' }
  if (!rules.forceEndsLease) return { job, verdict: 'cancelled' }
  return { job: endedBy(job, 'cancelled', 'cancelled'), verdict: 'cancelled' }
}

function refusalOf({ state }: Job): string {
  if (state === 'cancelled') return 'cancelled'
  return isTerminal(state) ? 'already_completed' : 'taken_by_another_worker'
}
