// Step 8: passes the acknowledgement to the handler of the job's name. Without a handler it is ignored, and not verified.

import type { FederationContext } from '../context.ts'
import type { AckPayload } from '../wire/v1/messages.ts'
import type { Delivery } from './delivery.ts'
import type { KnownPeer } from './find-peer.ts'
import { applyFollowAck } from './follow-ack.ts'
import { acknowledges } from './acknowledges.ts'
import { ackInvalid, type AckedDelivery, decryptAck, verifyAck } from './open-ack.ts'
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

/** Returns whether the acknowledgement was verified. @param isRelayed the acknowledgement came by a relay, and has been verified */
export async function dispatchAck(
  delivery: Delivery,
  peer: KnownPeer,
  ack: UncheckedAck,
  isRelayed: boolean,
): Promise<boolean> {
  const { context, data, name, jobId, acks } = delivery
  const { url: serverUrl, publicKey } = peer
  const { deliveryJobId, payload } = data
  const acked: AckedDelivery = { serverUrl, publicKey, deliveryJobId, isRelayed }
  const hasHandler = Object.hasOwn(acks, name)
  if (name === 'deliver-follow' && !hasHandler) {
    // It verifies the acknowledgement itself.
    await applyFollowAck(context, ack as unknown as AckPayload, acked, { sent: payload, jobId })
    return true
  }
  let content: unknown
  let isProven = false
  const open = async (): Promise<unknown> => {
    if (!isProven) content = await openAck(context, ack, acked)
    isProven = true
    return content
  }
  if (!isRelayed && context.policies.delivery.verifyAcks && !acknowledges(await open(), payload, serverUrl)) {
    throw await ackInvalid(context, acked, 'it names something else')
  }
  if (hasHandler) await acks[name]!({ serverUrl, deliveryJobId, jobId, payload, open })
  return isProven || isRelayed
}

/** Decrypts and verifies an acknowledgement. Returns its content. @throws as decryptAck() and verifyAck() */
export async function openAck(context: FederationContext, ack: UncheckedAck, acked: AckedDelivery): Promise<unknown> {
  const { text, value } = await decryptAck(context, ack['data'], acked)
  await verifyAck(context, text, ack['signature'], acked)
  return value
}
