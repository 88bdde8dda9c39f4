// One attempt at one delivery, as its steps see it.

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
}
