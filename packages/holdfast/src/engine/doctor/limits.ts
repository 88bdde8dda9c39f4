// Limits that cannot be read, and so are not in force.

import type { Finding } from '../../storage/storage.ts'
import { typeText } from '../explain/sentence.ts'
import type { GuardedStorage } from '../guard.ts'
import { limitEntries } from '../limits/limits-store.ts'
import { unreadableParts } from '../limits/stored-limits.ts'

/** Parts that a sentence names: an entry may have limits of 1,000 groups. */
const mostNamed = 3

export async function limitFindings(storage: GuardedStorage): Promise<Finding[]> {
  const found: Finding[] = []
  for await (const [type, bytes] of limitEntries(storage)) {
    const parts = unreadableParts(bytes)
    if (parts.length === 0) continue
    const named = parts.slice(0, mostNamed).join(', ')
    const rest = parts.length > mostNamed ? ` and ${parts.length - mostNamed} more` : ''
    found.push({
      code: 'limits_unreadable',
      severity: 'error',
      sentence: `stored limits of ${typeText(type)} cannot be read (${named}${rest}), and are not in force`,
      fix: 'Set the limits again, or restart a worker whose code declares them: both replace the entry. Then look for what damaged it: a disk, or another program.',
    })
  }
  return found
}
