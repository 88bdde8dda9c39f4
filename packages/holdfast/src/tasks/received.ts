// A task message that a queue delivered, or that a platform pushed, and which queue decides about its retries.

import type { Delivery } from './queue/message-queue.ts'
import type { NamedQueue } from './queue/queues.ts'
import type { TaskMessage } from './task-message.ts'
import type { AttemptSpan } from './telemetry/trace.ts'

export interface Received {
  readonly message: TaskMessage
  /** Whether this worker defines the task. */
  readonly defined: boolean
  /** The queue that delivered it; of a pushed message, the task's own. */
  readonly from: NamedQueue | undefined
  /** Of an `extended` queue. */
  readonly delivery: Delivery | undefined
  readonly attempt: number
  readonly elapsedMs: number
  readonly enqueuedAt: number
  readonly span: AttemptSpan | undefined
}

/** An `extended` queue delivered it: it retries in place, keeps failures, and understands directives. */
export const isExtended = ({ from, delivery }: Received): boolean =>
  delivery !== undefined && from?.queue.extended === true

/** The queue or the platform retries by itself, so a policy of the task cannot apply. */
export function leavesRetriesToQueue(received: Received): boolean {
  const { from } = received
  if (!from) return true
  return !isExtended(received) && from.queue.nativeRetrial === true
}

export const queueOf = ({ from }: Pick<Received, 'from'>): string => from?.name ?? 'pushed'
