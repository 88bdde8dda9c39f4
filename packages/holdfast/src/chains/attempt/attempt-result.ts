// What a middleware is told of the end of an attempt, once the storage has recorded it.

import type { AttemptEnd } from '../../engine/work/outcomes.ts'
import type { Refusal, SettleVerdict } from '../../storage/storage.ts'
import { Continued } from '../events/engine-events.ts'
import { chainRefOf } from '../job/stored-type.ts'
import type { AttemptResult } from '../types/handler.ts'
import type { ChainAttempt } from './chain-attempt.ts'

/**
 * @param end what runAttempt gave @param verdict what the storage said about it; undefined: nothing was recorded
 * @throws what the handler threw, or LeaseLostError
 */
export function attemptResult(run: ChainAttempt, end: AttemptEnd, verdict: SettleVerdict | undefined): AttemptResult {
  if (verdict?.verdict !== 'settled' || verdict.state !== 'completed') {
    if (end.error) throw run.thrown ?? end.error
    throw run.leaseLost(verdict && isRefusal(verdict) ? verdict.verdict : 'taken_by_another_worker')
  }
  if (end.value instanceof Continued) return { outcome: 'continued', job: chainRefOf(end.value.jobs[0]!) }
  return { outcome: 'completed', output: end.value }
}

const isRefusal = (verdict: SettleVerdict): verdict is { verdict: Refusal } =>
  verdict.verdict !== 'settled' && verdict.verdict !== 'conflict'
