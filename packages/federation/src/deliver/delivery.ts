// The state of one attempt at a delivery, passed from step to step.

import type { FederationDeliveryJob } from '../jobs.ts'
import type { SendingContext } from '../context.ts'
import type { AckHandlers } from './dispatch-ack.ts'
import type { ReadAhead } from './read-ahead.ts'

export interface Delivery {
  readonly context: SendingContext
  readonly ahead: ReadAhead | undefined
  readonly acks: AckHandlers
  readonly data: FederationDeliveryJob
  readonly jobId: string
  readonly name: string
  /** Number of this attempt, from 1. */
  readonly attempt: number
  readonly signal: AbortSignal | undefined
  /** When its job was accepted, in epoch ms. Undefined: the processor was called without a worker. */
  readonly acceptedAt: number | undefined
}
