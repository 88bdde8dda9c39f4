// The state of the exhaustive model: jobs as a storage keeps them, and what workers believe they run. Small on purpose: no types,
// groups, delays or payloads. Time is one bit per lease: it is over, or not.

/** Names one claim call: the worker, its start and the number of the call; and the attempt that the job got. */
export interface Fence {
  readonly worker: number
  readonly start: number
  readonly claim: number
  /** It claims ahead of a free slot. */
  readonly ahead?: boolean
  readonly attempt: number
}

export type Outcome = 'completed' | 'retry' | 'released'
export const outcomes: readonly Outcome[] = ['completed', 'retry', 'released']

const jobStates = ['waiting', 'held', 'completed', 'failed', 'cancelled'] as const
export type JobState = (typeof jobStates)[number]

export const isTerminal = (state: JobState): boolean => state !== 'waiting' && state !== 'held'

/** How an attempt ended: by its worker, by a lost lease, or by a forced cancel. */
const endings = ['completed', 'retry', 'released', 'stalled', 'cancelled'] as const

/** An attempt that ended, by which the repeat of a settle is answered as the first. */
export interface EndedAttempt {
  readonly fence: Fence
  readonly how: (typeof endings)[number]
  /** The state that the job reached by it. */
  readonly state: JobState
}

export interface Job {
  readonly state: JobState
  /** Begins with 1. A second life begins with an add under the id of an ended job, or with a revive. */
  readonly life: number
  /** Only grows within the record. */
  readonly attempt: number
  readonly failures: number
  /** Asked to stop. */
  readonly cancelling: boolean
  readonly holder?: Fence | undefined
  /** The lease of the holder is over. */
  readonly over: boolean
  /** Held ahead, and no heartbeat has said that it was started. */
  readonly unstarted: boolean
  /** A lease ahead of a free slot was lost: it is claimed for a free slot only. */
  readonly slotOnly: boolean
  readonly ended: readonly EndedAttempt[]
}

/** A handler that runs, or whose outcome was sent and is not answered. */
export interface Run {
  readonly job: number
  readonly fence: Fence
  readonly sent?: Outcome | undefined
}

interface Worker {
  /** How often its process was started again. */
  readonly start: number
  readonly runs: readonly Run[]
}

export interface State {
  readonly jobs: readonly Job[]
  readonly workers: readonly Worker[]
  /** A lost lease that a recovery has read, and has not written yet. */
  readonly seen?: { readonly job: number; readonly fence: Fence } | undefined
  readonly crashes: number
  readonly failovers: number
}

const newJob: Job = {
  state: 'waiting',
  life: 1,
  attempt: 0,
  failures: 0,
  cancelling: false,
  over: false,
  unstarted: false,
  slotOnly: false,
  ended: [],
}

/** The record of a new add. */
export const addedJob = (life: number): Job => ({ ...newJob, life })

export function firstState(jobs: number, workers: number): State {
  return {
    jobs: Array.from({ length: jobs }, () => newJob),
    workers: Array.from({ length: workers }, () => ({ start: 0, runs: [] })),
    crashes: 0,
    failovers: 0,
  }
}

export const isSame = (a: Fence, b: Fence): boolean =>
  a.worker === b.worker && a.start === b.start && a.claim === b.claim && a.attempt === b.attempt

/** Every fence that something refers to. One that nothing refers to cannot come back. */
export function* fencesOf({ jobs, workers, seen }: State): Generator<Fence> {
  for (const { holder, ended } of jobs) {
    if (holder) yield holder
    for (const { fence } of ended) yield fence
  }
  for (const { runs } of workers) for (const { fence } of runs) yield fence
  if (seen) yield seen.fence
}

/** Drops ended attempts that no worker can ask about any more: they make no difference. */
export function pruned(state: State): State {
  if (state.jobs.every(({ ended }) => ended.length === 0)) return state
  const jobs = state.jobs.map((job, index) => {
    if (job.ended.length === 0) return job
    const ended = job.ended.filter(({ fence }) =>
      state.workers[fence.worker]!.runs.some((run) => run.job === index && isSame(run.fence, fence)),
    )
    return ended.length === job.ended.length ? job : { ...job, ended }
  })
  return { ...state, jobs }
}

// ── one text per state, and one for all states that differ only in the names of jobs and workers ─────────────────────

const codeOf = ({ worker, start, claim, ahead, attempt }: Fence, order: readonly number[]): number =>
  1 + order.indexOf(worker) + 2 * (start + 4 * (claim + 8 * (attempt + (ahead ? 8 : 0))))

function textOf(
  { jobs, workers, seen, crashes, failovers }: State,
  jobOrder: readonly number[],
  order: readonly number[],
): string {
  const codes: number[] = [
    crashes,
    failovers,
    seen ? 1 + jobOrder.indexOf(seen.job) : 0,
    seen ? codeOf(seen.fence, order) : 0,
  ]
  for (const place of jobOrder) {
    const { state, life, attempt, failures, cancelling, holder, over, unstarted, slotOnly, ended } = jobs[place]!
    const bits = [cancelling, over, unstarted, slotOnly].reduce((sum, bit, index) => sum + (bit ? 1 << index : 0), 0)
    codes.push(jobStates.indexOf(state), life, attempt, failures, bits)
    codes.push(holder ? codeOf(holder, order) : 0, ended.length)
    const kept = ended.map((one) => [
      codeOf(one.fence, order),
      endings.indexOf(one.how) * 8 + jobStates.indexOf(one.state),
    ])
    for (const [fence, how] of kept.toSorted((a, b) => a[0]! - b[0]!)) codes.push(fence!, how!)
  }
  for (const place of order) {
    const { start, runs } = workers[place]!
    codes.push(start, runs.length)
    const texts = runs.map(({ job, fence, sent }) => [
      codeOf(fence, order),
      jobOrder.indexOf(job) * 4 + (sent ? 1 + outcomes.indexOf(sent) : 0),
    ])
    for (const [fence, run] of texts.toSorted((a, b) => a[0]! - b[0]! || a[1]! - b[1]!)) codes.push(fence!, run!)
  }
  return String.fromCharCode(...codes)
}

function ordersOf(length: number): readonly (readonly number[])[] {
  return length === 2
    ? [
        [0, 1],
        [1, 0],
      ]
    : [Array.from({ length }, (_, index) => index)]
}

/** Equal for states that differ only in the names of jobs or workers. */
export function keyOf(state: State): string {
  let least: string | undefined
  for (const jobOrder of ordersOf(state.jobs.length)) {
    for (const order of ordersOf(state.workers.length)) {
      const text = textOf(state, jobOrder, order)
      if (least === undefined || text < least) least = text
    }
  }
  return least!
}
