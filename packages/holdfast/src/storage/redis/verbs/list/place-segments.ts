// The sorted sets that list the jobs of a type, by the states that are asked for. A job is in one of them at a time.

import { stateCodes } from '../../../rules/job/codes.ts'
import type { JobState, ListQuery } from '../../../storage.ts'
import type { ListedType } from './scan.ts'
import type { Segment } from './window.ts'

const endStates = ['completed', 'failed', 'cancelled'] as const
const liveStates = ['scheduled', 'queued', 'failing', 'blocked', 'processing'] as const
const allStates: readonly JobState[] = [...liveStates, ...endStates]

/** Orders of segments: waiting jobs by priority, the highest first, then the other sets. */
const orders = {
  highestReady: 0,
  aside: 201,
  group: 202,
  blocked: 203,
  failing: 204,
  leases: 205,
  ended: 206,
  extra: 999,
}

/** A member of a ready set is the id after so many bytes of its order. */
const orderBytes = 6

/** False: no segment of the query is one of a priority. */
export const hasPriorities = ({ states, group }: ListQuery): boolean =>
  group === undefined && (!states || states.includes('queued') || states.includes('scheduled'))

export function placeSegments({ type, priorities }: ListedType, query: ListQuery): Segment[] {
  const states = new Set(query.states ?? allStates)
  const part = (order: number, set: string, from = '-inf', to = '+inf', idAt = 0): Segment => ({
    type,
    order,
    set,
    byMember: false,
    min: from,
    max: to,
    idAt,
    isTimed: true,
    jobOf: (member) => ({ id: member.toString('utf8', idAt) }),
  })
  // Expired records stand at the begin of these sets until they are swept.
  const ended = (state: (typeof endStates)[number], order: number): Segment =>
    part(order, `done:${stateCodes[state]}`, '(now')
  const segments: Segment[] = []
  if (query.group !== undefined) {
    if (liveStates.some((state) => states.has(state)))
      segments.push({ ...part(orders.group, `group:${query.group}`), isTimed: false })
  } else {
    segments.push(...waitingSegments(priorities, states, part))
    if (states.has('blocked')) segments.push({ ...part(orders.blocked, 'blocked'), isTimed: false })
    if (states.has('processing')) segments.push(part(orders.leases, 'leases'))
  }
  for (const [index, state] of endStates.entries()) {
    if (states.has(state)) segments.push(ended(state, orders.ended + index))
  }
  // The state of a chain is that of its tail. The first job of a longer chain is completed, whatever the state of its chain.
  if (query.of === 'chains' && !states.has('completed')) {
    segments.push(ended('completed', query.order === 'asc' ? orders.extra : -orders.extra))
  }
  return segments
}

function waitingSegments(
  priorities: readonly number[],
  states: ReadonlySet<JobState>,
  part: (order: number, set: string, from?: string, to?: string, idAt?: number) => Segment,
): Segment[] {
  const [queued, scheduled, failing] = [states.has('queued'), states.has('scheduled'), states.has('failing')]
  if (!queued && !scheduled) return failing ? [part(orders.failing, 'failing')] : []
  // Failing jobs are due or not; the others are queued or scheduled by it.
  const from = queued || failing ? '-inf' : '(now'
  const to = scheduled || failing ? '+inf' : 'now'
  const ready = priorities.map((priority) => {
    return part(orders.highestReady + 100 - priority, `ready:${priority}`, from, to, orderBytes)
  })
  return [...ready, part(orders.aside, 'aside', from, to)]
}
