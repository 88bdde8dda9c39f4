// Reads what a reason for an unhealthy peer allows.

import type { Policies } from '../policies.ts'
import type { ThreatPolicy, UnhealthyReason } from './threats.ts'

/** A reason without an entry counts as UNKNOWN. */
export function getThreatPolicy({ threats }: Pick<Policies, 'threats'>, reason: UnhealthyReason): ThreatPolicy {
  return Object.hasOwn(threats, reason) ? threats[reason] : threats.UNKNOWN
}

/** Returns the reasons whose peers a health check may contact. */
export function checkableReasons({ threats }: Pick<Policies, 'threats'>): UnhealthyReason[] {
  return (Object.keys(threats) as UnhealthyReason[]).filter((reason) => threats[reason].directHealthCheckable)
}
