// Sends a write, says what it did, and reads the page anew.

import type { NamedJob } from 'holdfast'
import type { ActionResult } from '../../shared/api.ts'
import { post } from '../state/api.ts'
import { refresh } from '../state/live.ts'
import { notify } from '../state/notices.ts'
import { counted } from './words.ts'

const words: Readonly<Record<string, string>> = {
  retried: 'retried',
  not_retryable: 'cannot be retried: it waits, runs or has completed',
  conflict: 'not retried: another job has taken its deduplication key',
  not_found: 'gone: removed, or its retention is over',
  cancelled: 'cancelled',
  cancelling: 'asked to stop',
  processing: 'left alone: it runs',
  completed: 'completed already',
  failed: 'failed already',
  removed: 'removed',
  not_terminal: 'not removed: it has not ended, so cancel it first',
  referenced: 'not removed: unfinished jobs wait for its chain',
  rescheduled: 'moved to its new time',
  not_waiting: 'not moved: it runs or has ended',
}

/** '48 jobs: retried. 2 jobs: cannot be retried …' */
function outcomeText({ results }: ActionResult): string {
  if (results.length === 1) return `${results[0]!.id.slice(0, 80)}: ${words[results[0]!.status] ?? results[0]!.status}.`
  const byStatus = Map.groupBy(results, ({ status }) => status)
  return [...byStatus].map(([status, jobs]) => `${counted(jobs.length, 'job')}: ${words[status] ?? status}.`).join(' ')
}

/** @returns whether it was done */
export async function runAction<T>(of: string, body: object, say: (answer: T) => string): Promise<boolean> {
  try {
    notify(say(await post<T>(of, body)))
    return true
  } catch (error) {
    notify((error as Error).message, true)
    return false
  } finally {
    refresh()
  }
}

export type JobWrite = 'retry' | 'cancel' | 'remove' | 'run-now' | 'reschedule'

export const changeJobs = (write: JobWrite, jobs: readonly NamedJob[], options: object = {}): Promise<boolean> =>
  runAction<ActionResult>(
    `jobs/${write}`,
    { ...options, jobs: jobs.map(({ face, name, id }) => ({ face, name, id })) },
    outcomeText,
  )
