// What happened to a job, as text: a line for each step, with the time since the one before.

import type { AttemptView } from '../engine/job/job-view.ts'
import type { JobDetails } from '../engine/operate/job-details.ts'
import { stateStyle } from './state-style.ts'
import type { Part } from './text.ts'
import { durationText, instantText } from './time.ts'

interface Step {
  readonly at: number
  readonly parts: readonly Part[]
}

export function timeline(job: JobDetails, now: number): Part[][] {
  let before = job.createdAt
  return stepsOf(job, now).map(({ at, parts }) => {
    const since = `+${durationText(Math.max(0, at - before))}`
    before = at
    return [{ text: instantText(at), style: 'dim' }, `  ${since.padStart(9)}  `, ...parts]
  })
}

function stepsOf(job: JobDetails, now: number): Step[] {
  const { createdAt, runAt, startedAt, finishedAt, state, history, workerId } = job
  const steps: Step[] = [{ at: createdAt, parts: ['added'] }, ...history.flatMap(attemptSteps)]
  if (state === 'processing' && startedAt !== undefined) {
    steps.push({
      at: startedAt,
      parts: [`run ${(history.at(-1)?.attempt ?? 0) + 1} began${on(workerId)}, and goes on`],
    })
  }
  const isEnded = finishedAt !== undefined
  if (isEnded) steps.push({ at: finishedAt, parts: [{ text: state, style: stateStyle[state] }, endText(job)] })
  else if (state !== 'processing' && state !== 'blocked') {
    steps.push({ at: runAt, parts: [runAt > now ? 'will be due' : 'due'] })
  }
  if (state === 'blocked') steps.push({ at: createdAt, parts: [`waits for ${job.blockers.length} other chains`] })
  return steps
}

function attemptSteps({ attempt, workerId, startedAt, endedAt, outcome, error }: AttemptView): Step[] {
  const ended = `run ${attempt} ended after ${durationText(endedAt - startedAt)}: `
  const style = outcome === 'completed' ? 'green' : outcome === 'released' ? 'dim' : 'yellow'
  return [
    { at: startedAt, parts: [`run ${attempt} began${on(workerId)}`] },
    { at: endedAt, parts: [ended, { text: outcome, style }, error ? `, ${error.message}` : ''] },
  ]
}

const on = (workerId: string | undefined): string => (workerId === undefined ? '' : ` on ${workerId}`)

const endText = ({ reason, cancelReason }: JobDetails): string => {
  const why = [reason, cancelReason].filter((text) => text !== undefined).join(', ')
  return why === '' ? '' : `: ${why}`
}
