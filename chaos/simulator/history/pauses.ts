// When a type was last resumed.

import type { History } from './entries.ts'

/** World time of the last resume of the type or of a group of it; 0 if there was none. */
export function lastResumeOf({ entries }: History, type: string): number {
  return entries.findLast((entry) => entry.what === 'resumed' && entry.type === type)?.t ?? 0
}
