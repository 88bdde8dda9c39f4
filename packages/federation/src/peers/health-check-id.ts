// The id of a health check. Since ids deduplicate, a peer has one series of checks, each at most once.

import { createHash } from 'node:crypto'

/** @param origin canonical @param attempt number of the check, from 0 */
export function healthCheckId(origin: string, attempt: number): string {
  return `health-check_${createHash('sha256').update(origin).digest('hex').slice(0, 16)}_${attempt}`
}
