// What is known of a job, in one sentence: for the top of its page, where the storage's handle does not explain it.

import type { JobPageData } from './api.ts'

interface Words {
  /** '3 min ago' or 'in 3 min' */
  ago(at: number): string
  duration(ms: number): string
}

export function stateSentence(job: JobPageData, now: number, { ago, duration }: Words): string {
  const { state, attempts, maxAttempts, runAt, startedAt, finishedAt = now, workerId } = job
  const tries = `${attempts}${maxAttempts === undefined ? '' : ` of ${maxAttempts}`} ${(maxAttempts ?? attempts) === 1 ? 'attempt' : 'attempts'}`
  const by = workerId === undefined ? '' : ` by worker ${workerId}`
  const error = job.error ? ` ${firstLine(job.error.message)}` : ''
  switch (state) {
    case 'scheduled':
      return runAt > now ? `Waits for its time: it is due ${ago(runAt)}.` : 'Is due, and waits for a worker.'
    case 'queued':
      return `Is due since ${duration(now - runAt)}, and waits for a worker.`
    case 'blocked':
      return `Waits for ${job.blockers.length === 1 ? 'another chain' : `${job.blockers.length} other chains`} to complete.`
    case 'processing': {
      const stop = job.cancelling ? ' Its handler was asked to stop.' : ''
      return `Runs${by}${startedAt === undefined ? '' : `, since ${duration(now - startedAt)}`}. Attempt ${attempts}${maxAttempts === undefined ? '' : ` of ${maxAttempts}`}.${stop}`
    }
    case 'failing':
      return `Failed ${tries} and ${runAt > now ? `runs again ${ago(runAt)}` : 'is due for the next one'}.${error}`
    case 'completed':
      return `Completed ${ago(finishedAt)}${startedAt === undefined ? '' : `, after a run of ${duration(finishedAt - startedAt)}`}${by}.`
    case 'failed':
      return `Failed for good ${ago(finishedAt)}, after ${tries}${reasons[job.reason ?? ''] ?? ''}.${error}`
    case 'cancelled':
      return `Was cancelled ${ago(finishedAt)}${job.cancelReason === undefined ? '' : `: ${job.cancelReason}`}.`
  }
}

const reasons: Readonly<Record<string, string>> = {
  stalled: ': its worker died, or ran longer than it may',
  expired: ': it had not started in time',
  blocker_failed: ': a chain that it waited for failed',
}

function firstLine(message: string): string {
  const [line = ''] = message.split('\n', 1)
  return line.length > 200 ? `${line.slice(0, 200)}…` : line
}
