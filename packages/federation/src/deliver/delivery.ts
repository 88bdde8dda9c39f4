// One attempt at one delivery, as its steps see it.

import type { FederationDeliveryJob } from '../jobs.ts'
import type { Sending } from '../setting.ts'
import type { AckHandlers } from './dispatch-ack.ts'

export interface Delivery {
  readonly setting: Sending
  readonly acks: AckHandlers
  readonly data: FederationDeliveryJob
  readonly jobId: string
  readonly name: string
  readonly signal: AbortSignal | undefined
}
