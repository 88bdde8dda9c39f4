// explain: a pure function over what was read (facts.ts). It says for a job that waits everything that a claim would pass it over for.
// Law, checked by random histories on every driver: explain and claim never disagree. A job that the next claim starts has no reason
// that says otherwise, and a job whose only reason is `ready` is in the next claim.

import type { JobRef } from '../../storage/storage.ts'
import type { GuardedStorage } from '../guard.ts'
import { type Explanation, type Reason, reasonCodes } from './explanation.ts'
import { type Facts, readFacts, type ReadFactsOptions } from './facts.ts'
import { dueReasons } from './reasons/due.ts'
import { busyReasons, orderReasons } from './reasons/groups.ts'
import { limitReasons } from './reasons/limits.ts'
import { pauseReasons } from './reasons/pauses.ts'
import { stateReasons } from './reasons/state.ts'
import { turnReason } from './reasons/turn.ts'
import { workerReasons } from './reasons/workers.ts'

export async function explainJob(
  storage: Pick<GuardedStorage, 'get' | 'list' | 'count' | 'kv'>,
  ref: JobRef,
  options: ReadFactsOptions,
): Promise<Explanation> {
  return explain(await readFacts(storage, ref, options))
}

export function explain(facts: Facts): Explanation {
  const { ref, record } = facts
  const reasons = reasonsOf(facts).toSorted(decisiveFirst)
  const next = reasons.every(({ until }) => until !== undefined)
    ? Math.max(...reasons.map(({ until }) => until!))
    : undefined
  return { id: ref.id, state: record?.state ?? 'not_found', reasons, ...(next !== undefined && { next }) }
}

function reasonsOf(facts: Facts): Reason[] {
  const { record, next } = facts
  const found = stateReasons(facts)
  if (found.length > 0 || !record || !next) return found
  found.push(...dueReasons(facts, record), ...pauseReasons(facts, next))
  const { group } = next
  if (group) found.push(...orderReasons(facts, record, group))
  // What a job of later would meet is not known yet.
  if (record.runAt > facts.now) return found
  if (group) found.push(...busyReasons(facts, group))
  found.push(...limitReasons(facts, record, next), ...workerReasons(facts))
  return found.length > 0 ? found : [turnReason(facts, record, next)]
}

/** First what only a person or another job ends, then what ends last. */
function decisiveFirst(a: Reason, b: Reason): number {
  const [aEnd, bEnd] = [a.until ?? Infinity, b.until ?? Infinity]
  if (aEnd !== bEnd) return aEnd > bEnd ? -1 : 1
  return reasonCodes.indexOf(a.code) - reasonCodes.indexOf(b.code)
}
