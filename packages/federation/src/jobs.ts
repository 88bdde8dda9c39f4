// The jobs of the two queues: their data, and the names of the seed.

/** Data of a delivery job: a payload and its target. The job's name (`deliver-follow`, `deliver-post`) is stored beside it. */
export interface FederationDeliveryJob {
  /** Id of the delivery's row. It stays the same over all attempts. */
  readonly deliveryJobId: string
  /** URL of the peer's inbox. */
  readonly targetUrl: string
  /** Origin of the peer. */
  readonly serverUrl: string
  /** JSON text of an object with `method` and the fields of that method. Empty: the body is stored with the row. */
  readonly payload: string
  /** Deliveries to one peer with the same key are sent one at a time, in the order of their rows. @default none */
  readonly orderKey?: string | undefined
}

/** Data of a health-check job. */
export interface HealthCheckJob {
  /** Origin of the peer. */
  readonly serverUrl: string
}

/** A job as its processor receives it. */
export interface ProcessorJob<Data> {
  readonly id: string
  readonly name: string
  readonly data: Data
  /** Number of this attempt, from 1. */
  readonly attempt: number
  /** Attempts in all. */
  readonly maxAttempts: number
  /** Aborts when the attempt must end. */
  readonly signal?: AbortSignal
}

/** Name of the queue of deliveries. */
export const DELIVERY_QUEUE_NAME = 'federation-delivery'
/** Name of the queue of health checks. */
export const HEALTH_CHECK_QUEUE_NAME = 'federation-health-check'
/** Default number of health checks of one series. */
export const MAX_HEALTH_CHECK_ATTEMPTS = 5
