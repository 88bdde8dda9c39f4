// Progress and log lines are of the run that held the job. Once an outcome is recorded, every line of its run is on the record:
// once, and in order. A failover while it ran may have forgotten some of them, which a heartbeat brought. (S6, F27)

import { attemptOf } from '../entries.ts'
import { type JobHistory, type LoggedLine, mayLackReports, timesAsked, type Violation, violation } from '../history.ts'

/** The worker estimates the storage's clock. */
const toleranceMs = 5

export function reportsAreFenced(job: JobHistory): Violation[] {
  const { record } = job
  if (!record) return []
  return [...staleLines(job, record.log ?? []), ...staleProgress(job), ...wrongLines(job, record.log ?? [])]
}

function staleLines(job: JobHistory, lines: readonly LoggedLine[]): Violation[] {
  const takenBackAt = new Map(
    job.record!.attempts.flatMap(({ fence, outcome, endedAt }) => (outcome === 'stalled' ? [[fence, endedAt!]] : [])),
  )
  return lines.flatMap((line, index): Violation[] => {
    const { fence, attempt, step, at } = line
    const what = `${job.id}: line ${step} of ${fence}`
    if (attempt !== attemptOf(fence)) return [violation('stale', `${what} is stored under attempt ${attempt}`, job)]
    if (index > 0 && lines[index - 1]!.attempt > attempt) {
      return [violation('stale', `${what} is stored after a line of attempt ${lines[index - 1]!.attempt}`, job)]
    }
    const lateMs = at - toleranceMs - (takenBackAt.get(fence) ?? Infinity)
    return lateMs > 0
      ? [violation('stale', `${what} was written ${lateMs} ms after its lease was taken back`, job)]
      : []
  })
}

/** The progress is the last one of the run that ended the job. */
function staleProgress(job: JobHistory): Violation[] {
  const { id, record, entries } = job
  const last = record!.attempts.at(-1)
  if (!last || !isOfHandler(last.outcome)) return []
  const ended = entries.find((entry) => entry.what === 'ended' && entry.fence === last.fence)
  if (ended?.what !== 'ended' || ended.lines === 0) return []
  const { progress } = record!
  if (progress?.fence === last.fence && progress.step === ended.lines) return []
  const settled = entries.find((entry) => entry.what === 'settled' && entry.fence === last.fence)
  if (mayLackReports(job, last.fence, settled?.at ?? Infinity)) return []
  const shown = progress ? `step ${progress.step} of ${progress.fence}` : 'none'
  return [violation('stale', `${id}: ${last.fence} ended it, and its progress is ${shown}`, job)]
}

function wrongLines(job: JobHistory, lines: readonly LoggedLine[]): Violation[] {
  // An earlier life of the id had a record of its own.
  if (timesAsked(job) > 1) return []
  const { id, entries } = job
  const linesOf = Map.groupBy(lines, ({ fence }) => fence)
  // Those of a call without an answer are sent again, and must be recognised.
  const repeated = [...linesOf].find(([, own]) =>
    own.some(({ step }, index) => index > 0 && own[index - 1]!.step >= step),
  )
  if (repeated) {
    const steps = repeated[1].map(({ step }) => step).join(', ')
    return [violation('reports', `${id}: the lines of ${repeated[0]} are ${steps}`, job)]
  }
  for (const entry of entries) {
    if (entry.what !== 'settled' || entry.verdict !== 'settled' || !isOfHandler(entry.kind)) continue
    const ended = entries.find((other) => other.what === 'ended' && other.fence === entry.fence)
    if (ended?.what !== 'ended') continue
    const steps = new Set(linesOf.get(entry.fence)?.map(({ step }) => step))
    if (steps.size === ended.lines || mayLackReports(job, entry.fence, entry.at)) continue
    const sentence = `${id}: ${entry.fence} logged ${ended.lines} lines, and ${steps.size} of them are on the record`
    return [violation('reports', sentence, job)]
  }
  return []
}

const isOfHandler = (outcome: string): boolean => ['completed', 'retry', 'failed'].includes(outcome)
