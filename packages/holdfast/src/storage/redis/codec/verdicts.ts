// Verdicts of add and settle, and the reports of several verbs: jobs that ended, and leases that were taken back.

import { refusalNames } from '../../rules/job/codes.ts'
import type { AddVerdict, Ended, Recovered, SettleVerdict } from '../../storage.ts'
import { addCodes, depthCodes, duplicateCodes, settleCodes } from './codes.ts'
import { type List, optional, optionalText, reasonOf, refOf, stateOf, text } from './fields.ts'
import type { Unpacked } from './unpack.ts'

export function addVerdict(answer: Unpacked): AddVerdict {
  const [kind, ...rest] = answer as List
  if (kind === addCodes.added) return { verdict: 'added', job: standing(rest) }
  if (kind === addCodes.replaced) return { verdict: 'replaced', job: standing(rest) }
  if (kind === addCodes.duplicate) {
    return { verdict: 'duplicate', by: rest[0] === duplicateCodes.id ? 'id' : 'key', job: standing(rest.slice(1)) }
  }
  if (kind === addCodes.stale) return { verdict: 'stale', version: rest[0] as number }
  if (kind === addCodes.queue_full) {
    return { verdict: 'queue_full', of: rest[0] === depthCodes.type ? 'type' : 'group', waiting: rest[1] as number }
  }
  if (kind === addCodes.group_kind) return { verdict: 'group_kind', ordered: rest[0] as boolean }
  return kind === addCodes.skipped ? { verdict: 'skipped' } : { verdict: 'blocker_not_found', blocker: refOf(rest) }
}

function standing([type, id, token, state, result, createdAt]: List) {
  return {
    type: text(type),
    id: text(id),
    token: text(token),
    state: stateOf(state),
    createdAt: createdAt as number | undefined,
    result: optional<Buffer>(result),
  }
}

const nothing: never[] = []

export function settleVerdict(answer: Unpacked): SettleVerdict {
  if (!Array.isArray(answer)) return completedVerdict(answer)
  const [kind, state, runAt, expiresAt, added, ended, unblocked] = answer as List
  if (kind === settleCodes.conflict) return { verdict: 'conflict', added: (state as List).map(addVerdict) }
  if (kind === settleCodes.refused) return { verdict: refusalNames[state as number]! }
  const times = { runAt: optional<number>(runAt), expiresAt: optional<number>(expiresAt) }
  return {
    verdict: 'settled',
    state: stateOf(state),
    ...times,
    added: added ? (added as List).map(addVerdict) : nothing,
    ended: ended ? (ended as List).map(endedOf) : nothing,
    unblocked: unblocked ? (unblocked as List).map(refOf) : nothing,
  }
}

/** The fast path answers a completion with the expiry of its record alone; true: it is kept for ever. */
function completedVerdict(expiresAt: Unpacked): SettleVerdict {
  return {
    verdict: 'settled',
    state: 'completed',
    expiresAt: expiresAt === true ? undefined : (expiresAt as number),
    added: nothing,
    ended: nothing,
    unblocked: nothing,
  }
}

export function endedOf(answer: Unpacked): Ended {
  const [type, id, state, reason, attempt, failures, payload, chain] = answer as List
  return {
    type: text(type),
    id: text(id),
    chain: refOf(chain!),
    state: stateOf(state) as Ended['state'],
    reason: reasonOf(reason),
    attempt: attempt as number,
    failures: failures as number,
    payload: optional<Buffer>(payload),
  }
}

export function recoveredOf(answer: Unpacked): Recovered {
  const [type, id, worker, attempt, label, state] = answer as List
  return {
    type: text(type),
    id: text(id),
    worker: text(worker),
    attempt: attempt as number,
    label: optionalText(label),
    state: stateOf(state),
  }
}
