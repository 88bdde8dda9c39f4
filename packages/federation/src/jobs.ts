// The jobs of the two queues.

/** Seed: `deliver-follow` and the like; what is to be sent to whom. */
export interface FederationDeliveryJob {
  /** Of the delivery's row. It never changes over retries. */
  readonly deliveryJobId: string
  /** The inbox, in full. */
  readonly targetUrl: string
  /** The origin of the target. */
  readonly serverUrl: string
  /** JSON: `method` and what it needs. */
  readonly payload: string
}

export interface HealthCheckJob {
  readonly serverUrl: string
}

/** What a processor is given. */
export interface ProcessorJob<Data> {
  readonly id: string
  readonly name: string
  readonly data: Data
  /** From 1. */
  readonly attempt: number
  readonly maxAttempts: number
  readonly signal?: AbortSignal
}

export const DELIVERY_QUEUE_NAME = 'federation-delivery'
export const HEALTH_CHECK_QUEUE_NAME = 'federation-health-check'
export const MAX_HEALTH_CHECK_ATTEMPTS = 5
