// Every move that can come next in a state of the model: calls with and without their answers, leases that end, crashes, and calls
// that a failover forgets although they were answered.

import { checkCall } from './checks.ts'
import { applyCall, type CancelMode, type Rules, type StorageCall } from './storage-rules.ts'
import {
  type Fence,
  fencesOf,
  isSame,
  type Job,
  type Outcome,
  outcomes,
  pruned,
  type Run,
  type State,
} from './state.ts'

/** How large the model is. */
export interface Size {
  readonly jobs: number
  readonly workers: number
  /** Claims of a job in one record, at most. */
  readonly attempts: number
  readonly lives: number
  /** Runs of a worker at the same time: of the second one it may not know that the first has lost its lease. */
  readonly slots: number
  /** Workers claim ahead of a free slot, too. */
  readonly ahead?: boolean
  readonly crashes: number
  readonly failovers: number
}

/** What becomes of the answer: it comes, is lost, or comes although a failover then forgets the call. */
type Fate = 'answered' | 'lost' | 'forgotten'

type Move =
  | {
      readonly what: 'call'
      readonly job: number
      readonly by: number | undefined
      readonly call: StorageCall
      readonly fate: Fate
    }
  | { readonly what: 'leaseEnds' | 'looks'; readonly job: number }
  | { readonly what: 'crashes'; readonly worker: number }

export interface Step {
  readonly move: Move
  readonly next: State
  /** What the storage answered. */
  readonly verdict?: string | undefined
  readonly violations: readonly string[]
}

export function* stepsFrom(state: State, size: Size, rules: Rules): Generator<Step> {
  for (const [index, job] of state.jobs.entries()) {
    yield* claims(state, index, job, size, rules)
    if (job.state === 'held' && !job.over) {
      const jobs = state.jobs.with(index, { ...job, over: true })
      yield { move: { what: 'leaseEnds', job: index }, next: { ...state, jobs }, violations: [] }
    }
    yield* recoveries(state, index, job, size, rules)
    for (const mode of modesFor(job)) yield* call(state, index, undefined, { verb: 'cancel', mode }, size, rules)
    if ((job.state === 'failed' || job.state === 'cancelled') && job.life < size.lives) {
      yield* call(state, index, undefined, { verb: 'revive' }, size, rules)
      yield* call(state, index, undefined, { verb: 'add' }, size, rules)
    }
  }
  for (const [index, { runs }] of state.workers.entries()) {
    for (const run of runs) {
      const { job, fence, sent } = run
      if (!sent) yield* call(state, job, index, { verb: 'extend', fence }, size, rules)
      for (const outcome of sent ? [sent] : outcomes)
        yield* call(state, job, index, { verb: 'settle', fence, outcome }, size, rules)
    }
    if (runs.length > 0 && state.crashes < size.crashes) yield crash(state, index)
  }
}

/** Looks and writes in one call; or, if the rules are broken, in two. */
function* recoveries(state: State, index: number, job: Job, size: Size, rules: Rules): Generator<Step> {
  const isLost = job.state === 'held' && job.over
  if (rules.recoverLooksAgain) {
    if (isLost) yield* call(state, index, undefined, { verb: 'recover', fence: job.holder! }, size, rules)
    return
  }
  if (isLost && !state.seen) {
    const next = { ...state, seen: { job: index, fence: job.holder! } }
    yield { move: { what: 'looks', job: index }, next, violations: [] }
  }
  if (state.seen?.job === index)
    yield* call(state, index, undefined, { verb: 'recover', fence: state.seen.fence }, size, rules)
}

/** Those that make a difference. */
const modesFor = ({ state, cancelling }: Job): readonly CancelMode[] =>
  state === 'waiting' ? ['plain'] : state === 'held' ? (cancelling ? ['force'] : ['abort', 'force']) : []

function* claims(state: State, index: number, job: Job, size: Size, rules: Rules): Generator<Step> {
  const mayBeFree = job.state === 'waiting' || (job.state === 'held' && (job.over || !rules.respectsLeases))
  if (!mayBeFree || job.attempt >= size.attempts) return
  for (const [worker, { start, runs }] of state.workers.entries()) {
    if (runs.length >= size.slots) continue
    const fence = { worker, start, claim: rules.numbersClaims ? freshClaim(state, worker, start, job.attempt + 1) : 0 }
    yield* call(state, index, worker, { verb: 'claim', fence }, size, rules)
    if (size.ahead) yield* call(state, index, worker, { verb: 'claim', fence: { ...fence, ahead: true } }, size, rules)
  }
}

/** Claims are numbered. Which numbers stand there makes no difference, only that no two fences are equal. */
function freshClaim(state: State, worker: number, start: number, attempt: number): number {
  const used = new Set<number>()
  for (const fence of fencesOf(state)) {
    if (fence.worker === worker && fence.start === start && fence.attempt === attempt) used.add(fence.claim)
  }
  let number = 0
  while (used.has(number)) number++
  return number
}

function* call(
  state: State,
  index: number,
  by: number | undefined,
  given: StorageCall,
  size: Size,
  rules: Rules,
): Generator<Step> {
  const before = state.jobs[index]!
  const answer = applyCall(before, given, rules)
  const violations = checkCall(before, given, answer, rules.maxAttempts, () => fencesOf(state))
  const { verdict } = answer
  // The reader of a lost lease forgets it with its write.
  const seen = given.verb === 'recover' ? undefined : state.seen
  const told = answeredState({ ...state, seen }, index, by, given, answer.fence, verdict)
  const jobs = state.jobs.with(index, answer.job)
  const move = (fate: Fate): Move => ({ what: 'call', job: index, by, call: given, fate })
  yield { move: move('answered'), next: pruned({ ...told, jobs }), verdict, violations }
  // Whether an operator or a recovery sees the answer changes nothing.
  if (by !== undefined) {
    const unaware = unansweredState(state, by, given)
    yield { move: move('lost'), next: pruned({ ...unaware, jobs }), verdict, violations }
  }
  if (state.failovers < size.failovers && answer.job !== before) {
    const next = { ...told, jobs: state.jobs, failovers: state.failovers + 1 }
    yield { move: move('forgotten'), next: pruned(next), verdict, violations }
  }
}

/** What the worker knows after the answer. */
function answeredState(
  state: State,
  job: number,
  by: number | undefined,
  given: StorageCall,
  claimed: Fence | undefined,
  verdict: string,
): State {
  if (by === undefined) return state
  if (given.verb === 'claim') return claimed ? withRuns(state, by, (runs) => [...runs, { job, fence: claimed }]) : state
  const isOver = given.verb === 'settle' || (verdict !== 'extended' && verdict !== 'cancelling')
  const { fence } = given as { fence: Fence }
  return isOver
    ? withRuns(state, by, (runs) => runs.filter((run) => !isSame(run.fence, fence) || run.job !== job))
    : state
}

/** What it knows without one: what it sent, it sends again. */
function unansweredState(state: State, by: number, given: StorageCall): State {
  if (given.verb !== 'settle') return state
  const { fence, outcome } = given as { fence: Fence; outcome: Outcome }
  return withRuns(state, by, (runs) => runs.map((run) => (isSame(run.fence, fence) ? { ...run, sent: outcome } : run)))
}

function withRuns(state: State, worker: number, change: (runs: readonly Run[]) => readonly Run[]): State {
  const one = state.workers[worker]!
  return { ...state, workers: state.workers.with(worker, { ...one, runs: change(one.runs) }) }
}

/** Its process ends, and another one starts under a new name. */
function crash(state: State, worker: number): Step {
  const workers = state.workers.with(worker, { start: state.workers[worker]!.start + 1, runs: [] })
  return {
    move: { what: 'crashes', worker },
    next: pruned({ ...state, workers, crashes: state.crashes + 1 }),
    violations: [],
  }
}
