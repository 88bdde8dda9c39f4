// The prefixes that this project writes under in a key-value store: one table, and no two of them overlap.

import type { StoreKey } from './kv-store.ts'

export const kvPrefixes = {
  taskDeduplication: ['_holdfast', 'taskDeduplication'],
  activityIdempotence: ['_holdfast', 'activityIdempotence'],
} as const satisfies Record<string, StoreKey>
