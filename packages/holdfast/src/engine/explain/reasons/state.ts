// Reasons of a job that does not wait for a start: it is unknown, has ended, runs, or waits for other chains.

import { isTerminal } from '../../../storage/rules/job/states.ts'
import type { JobRecord } from '../../../storage/storage.ts'
import { errorOf } from '../../job/job-error.ts'
import { attemptsOf, progressOf } from '../../job/job-view.ts'
import { named } from '../../operate/job-item.ts'
import type { Reason } from '../explanation.ts'
import type { Facts } from '../facts.ts'
import { clockTime, reason, typeText } from '../sentence.ts'
import { counted } from '../../../count-text.ts'

/** Empty: the job waits for a start. */
export function stateReasons(facts: Facts): Reason[] {
  const { record, ref } = facts
  if (!record) {
    const sentence = `job ${ref.id} is unknown: it was never added, or its record has expired or was removed`
    return [reason('not_found', sentence)]
  }
  if (isTerminal(record.state)) return [finished(facts, record)]
  if (record.state === 'processing') return running(facts, record)
  if (record.state === 'blocked') return [blocked(facts, record)]
  return []
}

function finished({ now }: Facts, record: JobRecord): Reason {
  const { state, finishedAt = now, reason: why, cancelReason } = record
  const at = clockTime(finishedAt, now)
  const tail = record.tail && record.tail.id !== record.id ? record.tail : undefined
  const goesOn =
    tail && !isTerminal(tail.state) ? `; its chain goes on with job ${tail.id} of ${typeText(tail.type)}` : ''
  const data = {
    finishedAt,
    reason: why ?? cancelReason,
    expiresAt: record.expiresAt,
    ...(state === 'failed' && { error: errorOf(record) }),
    ...(tail && { tail: { ...named(tail), state: tail.state } }),
  }
  if (state === 'completed') return reason('finished', `completed at ${at}${goesOn}`, data)
  if (state === 'cancelled') {
    const because = why === 'expired' ? ': it had not started by its deadline' : cancelReason ? `: ${cancelReason}` : ''
    return reason('finished', `was cancelled at ${at}${because}`, data)
  }
  const after = `after ${counted(attemptsOf(record), 'attempt')}`
  const because =
    why === 'stalled'
      ? 'its worker was lost, and no attempt is left'
      : why === 'blocker_failed'
        ? 'a job that it waited for did not complete'
        : errorOf(record).message
  return reason('finished', `failed at ${at} ${after}: ${because}`, data)
}

function running({ now }: Facts, record: JobRecord): Reason[] {
  const { startedAt = now, leaseUntil = now, label, attempt, cancelReason } = record
  const by = label === undefined ? '' : ` on worker ${label}`
  const since = `since ${clockTime(startedAt, now)}${by}`
  const data = { startedAt, leaseUntil, workerId: label, attempt, attempts: attemptsOf(record), ...progressOf(record) }
  if (leaseUntil <= now) {
    const ended = clockTime(leaseUntil, now)
    const sentence = `ran ${since}, which has not renewed the lease that ended at ${ended}: the next claim takes the job back`
    return [reason('recovering', sentence, data)]
  }
  const of = record.maxAttempts === undefined ? '' : ` of ${record.maxAttempts}`
  const sentence = `runs ${since}, attempt ${attemptsOf(record)}${of}, with a lease until ${clockTime(leaseUntil, now)}`
  const runs = reason('running', sentence, data)
  if (!record.cancelling) return [runs]
  const why = cancelReason ? ` (${cancelReason})` : ''
  return [reason('cancelling', `was asked to stop${why}: waits for its handler to end`, { reason: cancelReason }), runs]
}

function blocked({ blockers }: Facts, record: JobRecord): Reason {
  const { openBlockers, blockers: all = [] } = record
  const open = blockers.flatMap((first) => {
    const tail = first?.tail ?? first
    return first && tail && tail.state !== 'completed' ? [{ ...named(first), state: tail.state }] : []
  })
  const shown = open.slice(0, 3).map(({ face, name, id, state }) => `job ${id} of ${face} '${name}' (${state})`)
  const more = openBlockers > shown.length && shown.length > 0 ? ' and others' : ''
  const list = shown.length > 0 ? `: ${shown.join(', ')}${more}` : ''
  const of = all.length > openBlockers ? `${openBlockers} of ` : ''
  const sentence = `waits for ${of}${counted(Math.max(all.length, openBlockers), 'blocker')}${list}`
  return reason('blocked', sentence, { openBlockers, blockers: open })
}
