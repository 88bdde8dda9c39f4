// The state of one attempt at a delivery, passed from step to step.

import type { FederationDeliveryJob } from '../jobs.ts'
import type { SendingContext } from '../context.ts'
import type { AckHandlers } from './dispatch-ack.ts'

export interface Delivery {
  readonly context: SendingContext
  readonly acks: AckHandlers
  readonly data: FederationDeliveryJob
  readonly jobId: string
  readonly name: string
  readonly signal: AbortSignal | undefined
  /** When its job was accepted, in epoch ms. Undefined: the processor was called without a worker. */
  readonly acceptedAt: number | undefined
}
