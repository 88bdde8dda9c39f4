// Findings about records that have expired and are still there.

import type { Finding } from './storage.ts'

/** Workers sweep at least once a minute: a record that is overdue by three such periods was passed over. */
export const unsweptMs = 180_000

/** @param isOverdue whether there is a record that expired `unsweptMs` ago, or earlier */
export function sweepFindings(isOverdue: boolean): Finding[] {
  if (!isOverdue) return []
  return [
    {
      code: 'not_swept',
      severity: 'warning',
      sentence: `records that expired more than ${unsweptMs / 60_000} minutes ago are still stored: no worker sweeps them, or not as fast as jobs end`,
      fix: 'Start a worker of any type, or run `holdfast sweep`. If workers run, look for errors of their sweeps.',
    },
  ]
}
