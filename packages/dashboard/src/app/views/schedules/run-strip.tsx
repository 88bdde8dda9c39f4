// The runs of a schedule on one axis: those before now by the state of their job, those to come as marks, and now between them.

import type { ScheduleRun, ScheduleRuns } from 'holdfast'
import { time } from '../../lib/clock.ts'
import { jobHref } from '../../lib/links.ts'
import { counted, duration, instant, timeOfDay } from '../../lib/words.ts'

interface RunStripProps {
  readonly runs: ScheduleRuns
  readonly isPaused: boolean
  readonly face: string
  readonly typeName: string
}

/** A job that began so much after its slot was late, in ms. */
const lateMs = 60_000

export function RunStrip({ runs: { past, next }, isPaused, face, typeName }: RunStripProps) {
  const now = time.value
  const coming = isPaused ? [] : next
  if (past.length + coming.length === 0) return <span class="muted">none within a day</span>
  const [from, to] = [past[0]?.at ?? now, coming.at(-1)?.at ?? now]
  // Both sides have the same scale, so that now is in the middle.
  const half = Math.max(now - from, to - now, 1) * 1.04
  const left = (at: number): string => `${(50 + ((at - now) / half) * 50).toFixed(2)}%`
  return (
    <div class="strip" role="group" aria-label={wordsOf(past, coming)}>
      <div class="strip-lane">
        {past.map((run) => (
          <a
            key={run.at}
            class={`strip-run ${run.state === undefined ? 'none' : `state-${run.state}`}`}
            style={{ left: left(run.at) }}
            href={run.state === undefined ? undefined : jobHref({ face, name: typeName, id: run.id })}
            title={titleOf(run)}
            tabIndex={-1}
          />
        ))}
        {coming.map(({ at }) => (
          <span key={at} class="strip-run next" style={{ left: left(at) }} title={`${instant(at)}: to come`} />
        ))}
        <span class="strip-now" />
      </div>
      <div class="strip-axis num muted" aria-hidden="true">
        <span>−{about(half)}</span>
        <span>now</span>
        <span>+{about(half)}</span>
      </div>
    </div>
  )
}

/** '12 h': the axis is short. */
const about = (ms: number): string => duration(ms).split(' ', 2).join(' ')

/** How the last run ended, and whether it began late. */
export function LastRun({ runs: { past } }: { readonly runs: ScheduleRuns }) {
  const last = past.findLast(({ state }) => state !== undefined)
  if (!last) return null
  const late = last.startedAt === undefined ? 0 : last.startedAt - last.at
  return (
    <span class="line note" title={`slot of ${instant(last.at)}`}>
      {last.state}
      {late >= lateMs && `, ${duration(late)} late`}
    </span>
  )
}

function titleOf({ at, state, startedAt, finishedAt }: ScheduleRun): string {
  if (state === undefined) return `${instant(at)}: no job. It was skipped, or its record is gone`
  const ran = startedAt !== undefined && finishedAt !== undefined ? `, ran ${duration(finishedAt - startedAt)}` : ''
  const late = startedAt !== undefined && startedAt - at >= lateMs ? `, ${duration(startedAt - at)} late` : ''
  return `${instant(at)}: ${state}${ran}${late}`
}

/** The strip in words. */
function wordsOf(past: readonly ScheduleRun[], coming: readonly ScheduleRun[]): string {
  const states = new Map<string, number>()
  for (const { state = 'without a job' } of past) states.set(state, (states.get(state) ?? 0) + 1)
  const before = [...states].map(([state, count]) => `${count} ${state}`).join(', ')
  const first = coming[0]
  const after = first ? `; ${counted(coming.length, 'run')} to come, the first at ${timeOfDay(first.at)}` : ''
  return `${counted(past.length, 'past run')}${before === '' ? '' : `: ${before}`}${after}`
}
