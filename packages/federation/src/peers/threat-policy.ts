// What a reason allows, by the policies over the table of defaults.

import type { Policies } from '../policies.ts'
import type { ThreatPolicy, UnhealthyReason } from './threats.ts'

export function getThreatPolicy({ threats }: Pick<Policies, 'threats'>, reason: UnhealthyReason): ThreatPolicy {
  return Object.hasOwn(threats, reason) ? threats[reason] : threats.UNKNOWN
}

/** The reasons whose peers a health check may contact. */
export function checkableReasons({ threats }: Pick<Policies, 'threats'>): UnhealthyReason[] {
  return (Object.keys(threats) as UnhealthyReason[]).filter((reason) => threats[reason].directHealthCheckable)
}
