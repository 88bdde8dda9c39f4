// What the records of handlers say about a limit.

/** One run of a handler, by its own clock: ms, the same clock in all processes. */
export interface Run {
  readonly n: number
  readonly group: string
  readonly startedAt: number
  readonly endedAt: number
}

export interface Finding {
  /** The greatest number at once, or of starts in a window. */
  readonly most: number
  /** Starts that made it more than the limit. */
  readonly over: number
}

/** @throws if a job ran twice */
export function checkOnce(runs: readonly Run[]): void {
  const repeated = runs.length - new Set(runs.map(({ n }) => n)).size
  if (repeated > 0) throw new Error(`${repeated} jobs ran more than once`)
}

export function mostAtOnce(runs: readonly Run[], limit: number): Finding {
  const ends = runs.map(({ endedAt }) => endedAt).toSorted((a, b) => a - b)
  let ended = 0
  let [most, over] = [0, 0]
  for (const [index, { startedAt }] of byStart(runs).entries()) {
    // Below the number of starts so far: an end comes after its start.
    while (ends[ended]! <= startedAt) ended++
    const running = index + 1 - ended
    most = Math.max(most, running)
    if (running > limit) over++
  }
  return { most, over }
}

/** The worst of its groups, and the starts over the limit in all of them. */
export function mostAtOncePerGroup(runs: readonly Run[], limit: number): Finding {
  const found = [...Map.groupBy(runs, ({ group }) => group).values()].map((own) => mostAtOnce(own, limit))
  return {
    most: Math.max(...found.map(({ most }) => most)),
    over: found.reduce((sum, { over }) => sum + over, 0),
  }
}

export function mostInWindow(runs: readonly Run[], limit: number, windowMs: number): Finding {
  const starts = byStart(runs).map(({ startedAt }) => startedAt)
  let left = 0
  let [most, over] = [0, 0]
  for (const [index, at] of starts.entries()) {
    while (starts[left]! <= at - windowMs) left++
    const count = index + 1 - left
    most = Math.max(most, count)
    if (count > limit) over++
  }
  return { most, over }
}

/** Percent of the limit, in the whole windows after the first: what the first begins with is no steady demand. */
export function shareUsed(runs: readonly Run[], limit: number, windowMs: number): number {
  const starts = byStart(runs).map(({ startedAt }) => startedAt)
  const from = starts[0]! + windowMs
  const windows = Math.floor((starts.at(-1)! - from) / windowMs)
  if (windows < 1) throw new Error('the run was too short for a rate')
  const count = starts.filter((at) => at >= from && at < from + windows * windowMs).length
  return (count * 100) / (windows * limit)
}

/** Jobs per second, from the first start to the last end. */
export function paceOf(runs: readonly Run[]): number {
  const first = Math.min(...runs.map(({ startedAt }) => startedAt))
  const last = Math.max(...runs.map(({ endedAt }) => endedAt))
  return (runs.length * 1_000) / (last - first)
}

const byStart = (runs: readonly Run[]): readonly Run[] => runs.toSorted((a, b) => a.startedAt - b.startedAt)
