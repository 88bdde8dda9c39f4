// The id of a health check: one series of checks per peer, each at most once.

import { createHash } from 'node:crypto'

/** `origin`: canonical. */
export function healthCheckId(origin: string, attempt: number): string {
  return `health-check_${createHash('sha256').update(origin).digest('hex').slice(0, 16)}_${attempt}`
}
