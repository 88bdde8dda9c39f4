// A federation on a given storage, the servers around it, and its log lines and events.

import type { TestContext } from 'node:test'
import type { Clock, Logger, Storage } from 'holdfast'
import { storedType } from 'holdfast/storage'
import type { FakeClock } from 'holdfast/testing'
import { createFederation, type FederationOptions } from '../../src/create.ts'
import type { Federation } from '../../src/federation.ts'
import type { FederationDeliveryJob, HealthCheckJob, ProcessorJob } from '../../src/jobs.ts'
import { DELIVERY_QUEUE_NAME, HEALTH_CHECK_QUEUE_NAME } from '../../src/jobs.ts'
import { generateKeyText, keyringFromBase64, type KeyringText } from '../../src/keyring.ts'
import type { FederationEvents } from '../../src/context.ts'
import type { DeliveryRow, Store } from '../../src/store/store.ts'
import type { TestPeer, World } from './world.ts'

export interface Place {
  readonly name: string
  /** Opens a storage and tables for one test. */
  open(clock?: Clock): Promise<{ readonly storage: Storage; readonly store: Store; close(): Promise<void> }>
}

/** The storage uses the real clock although the federation has a fake one. */
export const withoutClock = (place: Place): Place => ({ name: place.name, open: () => place.open() })

export interface LogLine {
  readonly level: keyof Logger
  readonly data: Readonly<Record<string, unknown>>
  readonly message: string
}

export interface Bench {
  readonly federation: Federation
  readonly storage: Storage
  readonly store: Store
  readonly keys: KeyringText
  readonly world: World
  readonly log: LogLine[]
  readonly events: { readonly name: keyof FederationEvents; readonly data: object }[]
  /** Makes a peer; with `known`, its keys are pinned. */
  peer(options?: { readonly known?: boolean }): Promise<TestPeer>
  /** Makes a delivery to a peer, with its row, as a processor receives it. */
  delivery(peer: TestPeer, change?: Partial<Given>): Promise<ProcessorJob<FederationDeliveryJob>>
  row(id: string): Promise<DeliveryRow | undefined>
}

export interface Given {
  readonly id: string
  readonly name: string
  readonly payload: string
  readonly targetUrl: string
  readonly serverUrl: string
  readonly attempt: number
  readonly signal: AbortSignal
  /** @default true */
  readonly hasRow: boolean
}

let made = 0

export const own = 'http://self.test'

export async function bench(
  t: TestContext,
  place: Place,
  world: World,
  options: Partial<FederationOptions> = {},
): Promise<Bench> {
  const { storage, store, close } = await place.open(options.clock)
  const keys = generateKeyText()
  const log: LogLine[] = []
  const line =
    (level: keyof Logger) =>
    (data: object, message: string): void =>
      void log.push({ level, data: data as LogLine['data'], message })
  const federation = createFederation({
    profile: 'seed',
    origin: own,
    storage,
    store,
    keyring: keyringFromBase64(keys),
    http: world.http(),
    logger: { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
    ...options,
  })
  const events: Bench['events'][number][] = []
  const names = ['pin_mismatch', 'ack_forged', 'peer_unhealthy', 'peer_healthy', 'delivered'] as const
  for (const name of [...names, 'delivery_failing', 'delivery_failed'] as const) {
    federation.on(name, (data: object) => void events.push({ name, data }))
  }
  await federation.connect()
  await federation.deliveryQueue.queue.start()
  t.after(async () => {
    await federation.stop({ graceMs: 0 })
    await close()
  })
  return {
    federation,
    storage,
    store,
    keys,
    world,
    log,
    events,
    peer: async ({ known = true } = {}) => {
      const peer = world.peer(keys)
      if (known) await store.peers.pin({ ...peer.text, url: peer.origin }, 1_000, { isReached: true })
      return peer
    },
    delivery: async (peer, change = {}) => {
      const { id = `delivery-${++made}`, name = 'deliver-follow', hasRow = true } = change
      const { payload = followPayload(), targetUrl = `${peer.origin}/inbox`, serverUrl = peer.origin } = change
      if (hasRow) await store.deliveries.insert({ id, name, targetUrl, serverUrl, payload, createdAt: 1_000 })
      const data = { deliveryJobId: id, targetUrl, serverUrl, payload }
      const { attempt = 1, signal } = change
      return { id, name, data, attempt, maxAttempts: 5, ...(signal && { signal }) }
    },
    row: (id) => store.deliveries.get(id),
  }
}

const follower = 'alice'
const followee = 'bob'

export function followPayload(change: object = {}): string {
  const following = {
    id: 'f1',
    createdAt: new Date().toISOString(),
    followerId: follower,
    followingId: followee,
    accepted: false,
    followerServerUrl: null,
  }
  return JSON.stringify({ following, federationUrl: own, method: 'FEDERATE', ...change })
}

/** Inserts the follow of bob at this peer. */
export async function insertFollow({ store }: Bench, peer: TestPeer): Promise<string> {
  const { row } = await store.follows.insert({
    id: `follow-${++made}`,
    followerId: follower,
    followingId: followee,
    followerServerUrl: peer.origin,
    followingServerUrl: peer.origin,
    accepted: false,
    acknowledged: false,
    createdAt: 1_000,
  })
  return row.id
}

export const checkJob = (id: string, serverUrl: string): ProcessorJob<HealthCheckJob> => ({
  id,
  name: 'health-check',
  data: { serverUrl },
  attempt: 1,
  maxAttempts: 1,
})

/** Waits until the condition holds, with a check every 2 ms. Fails after 30 s. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + 30_000
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`${what}: not within 30 s`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

/**
 * Lets time pass until the condition holds, and hardly any while a delivery runs: its requests take real time, and must not run into deadlines
 * of the fake clock.
 */
export async function passing(
  { storage }: Pick<Bench, 'storage'>,
  clock: FakeClock,
  holds: () => boolean | Promise<boolean>,
  stepMs = 500,
): Promise<void> {
  const deadline = performance.now() + 60_000
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error('what the test waits for does not happen, or not within 60 s')
    const { types } = await storage.count({ types: [deliveryType] })
    if ((types[0]?.states.processing ?? 0) === 0) await clock.advance(stepMs)
    else {
      // As much as in real time: deliveries of one peer may begin at a distance.
      await new Promise((resolve) => setTimeout(resolve, 1))
      await clock.advance(1)
    }
  }
}

/** Types of the stored jobs: the face and the name of their queue. */
export const deliveryType = storedType('federation', DELIVERY_QUEUE_NAME)
export const healthCheckType = storedType('federation', HEALTH_CHECK_QUEUE_NAME)

/** Makes a waiting job due now. */
export async function bringForward(storage: Storage, id: string, type = deliveryType): Promise<void> {
  await storage.revive([{ type, id }], { runAt: 0 })
}
