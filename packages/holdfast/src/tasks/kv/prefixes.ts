// Who writes where in a key-value store: one table, so that no two prefixes meet.

import type { StoreKey } from './kv-store.ts'

export const kvPrefixes = {
  taskDeduplication: ['_holdfast', 'taskDeduplication'],
  activityIdempotence: ['_holdfast', 'activityIdempotence'],
} as const satisfies Record<string, StoreKey>
