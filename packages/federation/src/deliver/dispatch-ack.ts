// Step 8: passes the acknowledgement to the handler of the job's name. Without a handler it is ignored, and not verified.

import type { FederationContext } from '../context.ts'
import type { AckPayload } from '../wire/v1/messages.ts'
import type { Delivery } from './delivery.ts'
import type { KnownPeer } from './find-peer.ts'
import { handleFollowAck } from './follow-ack.ts'
import { decryptAck, verifyAck } from './open-ack.ts'
import type { UncheckedAck } from './read-ack.ts'

export interface AckContext {
  /** Origin of the peer. */
  readonly serverUrl: string
  readonly deliveryJobId: string
  readonly jobId: string
  /** Payload that was sent. */
  readonly payload: string
  /**
   * Decrypts and verifies the acknowledgement, and returns its content.
   * @throws UnrecoverableError ACK_INVALID, SIGNING_KEY_MISSING, ACK_SIGNATURE_INVALID
   */
  open(): Promise<unknown>
}

/** Handles an acknowledgement; may run again for the same delivery. An error fails the attempt, an UnrecoverableError the delivery. */
export type AckHandler = (context: AckContext) => void | Promise<void>

/** Acknowledgement handlers, by job name. */
export type AckHandlers = Readonly<Record<string, AckHandler>>

export async function dispatchAck(delivery: Delivery, peer: KnownPeer, ack: UncheckedAck): Promise<void> {
  const { context, data, name, jobId, acks } = delivery
  const { url: serverUrl, publicKey } = peer
  const { deliveryJobId, payload } = data
  if (Object.hasOwn(acks, name)) {
    const open = (): Promise<unknown> => openAck(context, ack, { serverUrl, publicKey, deliveryJobId })
    return acks[name]!({ serverUrl, deliveryJobId, jobId, payload, open })
  }
  if (name !== 'deliver-follow') return
  await handleFollowAck(context, ack as unknown as AckPayload, serverUrl, publicKey, deliveryJobId, jobId)
}

async function openAck(
  context: FederationContext,
  ack: UncheckedAck,
  of: Parameters<typeof decryptAck>[2],
): Promise<unknown> {
  const { text, value } = await decryptAck(context, ack['data'], of)
  await verifyAck(context, text, ack['signature'], of)
  return value
}
