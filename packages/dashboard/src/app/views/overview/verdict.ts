// One sentence that says whether all is well, and what is wrong first.

import type { Attention, Totals, TypeRow } from '../../../shared/api.ts'
import { counted, duration } from '../../lib/words.ts'

interface Verdict {
  readonly isWell: boolean
  readonly title: string
  readonly detail: string
}

/** A type that is only paused, or has failed jobs of long ago, is no emergency; one that does not move is. */
const urgent: readonly Attention[] = ['no_worker', 'late']

export function verdictOf(types: readonly TypeRow[], totals: Totals): Verdict {
  const stuck = types.filter(({ attention }) => attention.some((reason) => urgent.includes(reason)))
  const [first] = stuck
  if (first) {
    const why = first.attention.includes('no_worker')
      ? `${first.name} has ${counted(first.due, 'due job')} and no worker`
      : `${first.name} is late: its oldest job has waited ${duration(first.oldestDueMs ?? 0)}`
    return {
      isWell: false,
      title: stuck.length === 1 ? 'One type does not keep up' : `${stuck.length} types do not keep up`,
      detail: `${why}.`,
    }
  }
  const { failed, failing } = totals.states
  const paused = totals.paused > 0 ? ` ${counted(totals.paused, 'type')} paused.` : ''
  if (failed > 0) {
    return { isWell: false, title: `${counted(failed, 'job')} failed for good`, detail: `The rest keeps up.${paused}` }
  }
  const detail =
    failing > 0 ? `${counted(failing, 'job')} failed and will be retried.` : 'Nothing is late, nothing has failed.'
  return { isWell: true, title: 'All is well', detail: `${detail}${paused}` }
}
