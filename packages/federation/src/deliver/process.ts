// One attempt at a delivery, as a list of steps.

import { isHoldfastError } from 'holdfast'
import { FederationError, federationCodeOf } from '../errors.ts'
import type { FederationDeliveryJob, ProcessorJob } from '../jobs.ts'
import type { FederationResponse } from '../peers/federation-fetch.ts'
import { markServerHealthy } from '../peers/health.ts'
import type { SendingContext } from '../context.ts'
import { askedWaitMs } from './asked-to-wait.ts'
import { checkBlacklist } from './check-blacklist.ts'
import { checkTarget } from './check-target.ts'
import { contactPeer } from './contact-peer.ts'
import type { Delivery } from './delivery.ts'
import { type AckHandlers, dispatchAck } from './dispatch-ack.ts'
import { findPeer, type KnownPeer } from './find-peer.ts'
import { loadBody } from './load-body.ts'
import { readAck } from './read-ack.ts'
import { readAhead } from './read-ahead.ts'
import { readPayload } from './read-payload.ts'
import { acceptRelayedAck, isRelayed } from './relayed-ack.ts'
import { retryDelay } from './retry-delay.ts'
import { countAttempt, seal } from './seal.ts'
import { send } from './send.ts'
import { signOnce } from './sign-once.ts'
import { applyUnprovenAck, isUnprovenAck } from './unproven-ack.ts'

export interface Delivered {
  /** False if the acknowledgement has no signature, or was not verified. */
  readonly isProven: boolean
}

/**
 * Resolves when the peer has acknowledged the delivery.
 * @param acceptedAt when the job was accepted, in epoch ms
 * @throws UnrecoverableError: no retry; an error with `retryAfterMs`: later, without a spent attempt; any other error: retry
 */
export async function processFederationDelivery(
  context: SendingContext,
  job: ProcessorJob<FederationDeliveryJob>,
  acks: AckHandlers = {},
  acceptedAt?: number,
): Promise<Delivered> {
  const { id: jobId, name, signal, attempt } = job
  // A peer with a long backlog makes room for others.
  await context.drains?.take(job.data.serverUrl)
  // Many attempts start at once.
  await context.turns.take()
  try {
    const ahead = readAhead(context, job.data)
    const data = await loadBody(context, job.data)
    const delivered = await deliver({ ahead, context, acks, data, jobId, name, attempt, signal, acceptedAt })
    if (acceptedAt !== undefined) context.metrics.observe('ack', (context.clock.now() - acceptedAt) / 1_000)
    return delivered
  } catch (error) {
    await recordFailure(context, job, error).catch((problem: unknown) => {
      const code = failureCode(problem)
      context.logger?.warn?.({ jobId, code }, 'federation: the failure of a delivery could not be written to its row')
    })
    throw error
  }
}

async function deliver(delivery: Delivery): Promise<Delivered> {
  const { contacts } = delivery.context
  const method = await readPayload(delivery)
  const origin = await checkTarget(delivery)
  await checkBlacklist(delivery, origin)
  const transmit = (): Promise<Delivered> => transmitTo(delivery, method, origin)
  return contacts ? contactPeer(delivery, contacts, origin, transmit) : transmit()
}

/** The steps that contact the peer. */
async function transmitTo(delivery: Delivery, method: string, origin: string): Promise<Delivered> {
  const { context } = delivery
  const peer = await findPeer(delivery, origin)
  const envelope = seal(delivery, peer)
  // Together: the count is a commit.
  const counted = countAttempt(delivery)
  counted.catch(() => {})
  const signature = await signOnce(delivery.data.payload, context.keyring)
  // In the profile `hardened` the count decides nothing, so the request does not wait for it.
  if (!context.contacts) await counted
  const response = await send(delivery, origin, method, envelope, signature).catch(async (error: unknown) => {
    throw (await isSealedForOldKey(delivery, peer, error)) ? keysChanged(origin, error) : error
  })
  // Many replies arrive at once.
  await context.turns.take('begun')
  if (isRelayed(response)) {
    await acceptRelayedAck(delivery, peer, response)
    await counted
    return { isProven: true }
  }
  const isProven = await acceptDirectAck(delivery, method, peer, response)
  if (peer.isHealthy === false) await markServerHealthy(context, origin)
  await noteReached(context, peer)
  await counted
  return { isProven }
}

/** Returns whether the acknowledgement was verified. */
async function acceptDirectAck(
  delivery: Delivery,
  method: string,
  peer: KnownPeer,
  response: FederationResponse,
): Promise<boolean> {
  if (!isUnprovenAck(delivery, method, peer, response)) {
    return dispatchAck(delivery, peer, await readAck(delivery, response), false)
  }
  await applyUnprovenAck(delivery, peer)
  return false
}

/** The profile `hardened` ends a delivery that the peer refuses. If the pin was replaced meanwhile, the peer could not read it. */
async function isSealedForOldKey({ context }: Delivery, peer: KnownPeer, error: unknown): Promise<boolean> {
  const { status = 0 } = error as { readonly status?: number }
  if (!context.contacts || status < 400 || status > 499) return false
  const pinned = await context.store.peers.get(peer.url)
  return pinned !== undefined && pinned.encryptionPublicKey !== peer.encryptionPublicKey
}

function keysChanged(origin: string, cause: unknown): FederationError {
  const message = `delivery to ${origin}: the server changed its keys meanwhile. It is sent again, and no attempt was spent.`
  return new FederationError('HTTP_STATUS', message, { cause, retryAfterMs: 1_000, scope: 'job' })
}

const hour = 3_600_000

/** By the hour, so that not every delivery costs a write. */
async function noteReached({ store, clock }: SendingContext, { url, reachedAt }: KnownPeer): Promise<void> {
  const now = clock.now()
  if (reachedAt === undefined || reachedAt < now - hour) await store.peers.reached(url, now)
}

/** Writes a retry, or the last failure, to the row. A step that ends the delivery has written its own end. */
async function recordFailure(
  { store, clock, policies }: SendingContext,
  { data, attempt, maxAttempts, signal }: ProcessorJob<FederationDeliveryJob>,
  error: unknown,
): Promise<void> {
  // A released or lost attempt does not decide how the delivery continues.
  if (signal?.aborted) return
  const code = failureCode(error)
  const id = data.deliveryJobId
  const waitMs = askedWaitMs(error)
  if (code === 'NOT_ITS_TURN') return
  if (code === 'PEER_HELD') {
    const { cause, nextContactAt = clock.now() } = error as { cause?: unknown; nextContactAt?: number }
    // Without a cause there was no contact, so there is nothing to write.
    return cause === undefined ? undefined : store.deliveries.retried(id, nextContactAt, failureCode(cause))
  }
  if (waitMs !== undefined) return store.deliveries.retried(id, clock.now() + waitMs, code)
  if (isHoldfastError(error, 'UNRECOVERABLE') || attempt >= maxAttempts) {
    return store.deliveries.failed(id, code, clock.now())
  }
  await store.deliveries.retried(id, clock.now() + retryDelay(policies.delivery.backoff, attempt, error as Error), code)
}

/** Returns a code for rows and log lines, for any thrown value. */
export function failureCode(error: unknown): string {
  const code: unknown = federationCodeOf(error) ?? (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : 'UNKNOWN'
}
