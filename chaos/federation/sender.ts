// Opens a sender. All its processes share one origin, one place and one set of keys.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  createFederation,
  DELIVERY_QUEUE_NAME,
  type Federation,
  type FederationOptions,
  keyringFromBase64,
  type KeyringText,
  type Store,
} from '@holdfast/federation'
import type { Storage } from 'holdfast'
import { storedType } from 'holdfast/storage'
import { Failpoint } from './failpoints.ts'
import { placeNamed, type Urls } from './places.ts'

export interface SenderConfig {
  readonly profile: 'seed' | 'hardened'
  readonly place: string
  readonly urls: Urls
  readonly directory: string
  readonly origin: string
  readonly receiver: string
  readonly activities: number
  /** Deliveries at a time, per worker. */
  readonly concurrency: number
  /** Deadline of a request in ms. A lost claim is recovered after about eight times that. */
  readonly timeoutMs: number
}

export interface Sender {
  readonly storage: Storage
  readonly store: Store
  readonly federation: Federation
}

export const keysFile = (directory: string, of: 'sender' | 'receiver'): string => join(directory, `${of}-keys.json`)

export const deliveryType = storedType('federation', DELIVERY_QUEUE_NAME)

export async function openSender(
  config: SenderConfig,
  failpoint: Failpoint = new Failpoint(undefined, () => undefined),
  more: Pick<FederationOptions, 'acks'> = {},
): Promise<Sender> {
  const { profile, timeoutMs, directory, origin, receiver, concurrency } = config
  const { storage, store } = await placeNamed(config.place).open(directory, config.urls)
  const given = keyringFromBase64(JSON.parse(readFileSync(keysFile(directory, 'sender'), 'utf8')) as KeyringText)
  const { connector, keyring } = failpoint.instrument({ storage, store, keyring: given }, deliveryType)
  const federation = createFederation({
    profile,
    origin,
    storage,
    store,
    keyring,
    http: { allowCidrs: ['127.0.0.0/8'], allowHttp: true, allowPorts: [origin, receiver].map(portOf), connector },
    policies: {
      // Retry without end: the run looks for lost deliveries, not for failed ones.
      delivery: {
        maxAttempts: 10_000,
        concurrency,
        backoff: { type: 'fixed', delayMs: 200 },
        timeoutMs,
        connectTimeoutMs: timeoutMs,
        // The judge counts completed jobs.
        keepCompletedMs: 24 * 3_600_000,
      },
      contact: { firstDelayMs: 200, maxDelayMs: 1_000 },
      discovery: { timeoutMs, perMinute: 10_000 },
      health: { delayMs: () => 500, timeoutMs, maxAttempts: 10_000 },
      relay: { use: false, sweepTimeoutMs: 1 },
    },
    ...more,
  })
  return { storage, store, federation }
}

export const portOf = (origin: string): number => Number(new URL(origin).port)

// ── activities: follows and posts, alternating ──

export type Activity =
  | { readonly kind: 'follow'; readonly followerId: string }
  | { readonly kind: 'post'; readonly id: string }

export const activityOf = (number: number): Activity =>
  number % 2 === 0 ? { kind: 'follow', followerId: `follower-${number}` } : { kind: 'post', id: `post-${number}` }

/** Name of the activity's effect on the receiver. */
export const nameOf = (activity: Activity): string => (activity.kind === 'follow' ? activity.followerId : activity.id)

export const followed = 'followed-user'
