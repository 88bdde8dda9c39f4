// A worker for one queue.

import type { Tell } from '../events.ts'
import { decode } from '../job/serde.ts'
import type { ResolvedQueueConfig } from '../queue-config.ts'
import type { GuardedStorage } from '../storage/guard.ts'
import { execute, type JobHandler } from './execute.ts'
import { Worker } from './worker.ts'

export function queueWorker<P, R>(
  config: ResolvedQueueConfig<P, R>,
  storage: GuardedStorage,
  handler: JobHandler<P, R>,
  tell: Tell,
): Worker {
  const { name, clock, workerId, concurrency, maxRetries, visibilityTimeout, payloadSerde } = config
  const handling = { ...config, handler, maxAttempts: maxRetries, label: workerId, tell }
  return new Worker({
    storage,
    clock,
    label: workerId,
    concurrency,
    pollMs: 1_000 * config.blockTimeout,
    tell,
    types: [
      {
        type: name,
        // Never past the cap, so that a dead worker's job is free by then.
        leaseMs: Math.min(config.leaseMs, visibilityTimeout),
        capMs: visibilityTimeout,
        maxAttempts: maxRetries,
        run: (attempt) => execute(attempt, handling),
        payloadOf: (bytes) => {
          try {
            return decode('payload', payloadSerde, bytes)
          } catch {
            return undefined
          }
        },
      },
    ],
  })
}
