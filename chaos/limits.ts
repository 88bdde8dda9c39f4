// The limits of a run: how many jobs of a type and of a group run at a time, and how many start in an interval.

import type { Limits } from 'holdfast/storage'
import type { QueueName } from './jobs.ts'

/** Keys of the unordered groups. Jobs without a group are one more. */
export const tenantKeys = ['tenant-0', 'tenant-1', 'tenant-2', 'tenant-3', 'tenant-4', 'tenant-5'] as const

/** What the workers declare. */
export const limitsOf = {
  limited: { concurrency: 4, group: { limit: 2 } },
  rated: { rate: { limit: 6, perMs: 500 } },
} as const satisfies Partial<Record<QueueName, Limits>>

/** How long a handler that was told to slow down keeps its type or group waiting, ms. */
export const slowDownMs = 600
