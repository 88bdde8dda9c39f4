// Steps 7 and 8 of a reply that came by a relay. A relay is another party: it may answer anything, an old acknowledgement of the target,
// too. So the reply counts only if the target signed it and it names what was sent, whether the job has a handler or not.
// Invariant: such a reply never ends a delivery. Whatever is wrong with it is the failure of the direct request, which is retried.

import { FederationError } from '../errors.ts'
import type { FederationResponse, RelayedResponse } from '../peers/federation-fetch.ts'
import { acknowledges } from './acknowledges.ts'
import type { Delivery } from './delivery.ts'
import { dispatchAck, openAck } from './dispatch-ack.ts'
import type { KnownPeer } from './find-peer.ts'
import { ackInvalid } from './open-ack.ts'
import { readAck } from './read-ack.ts'

export const isRelayed = (response: FederationResponse): response is RelayedResponse => response.via !== undefined

/** @throws FederationError TRANSPORT: of the direct request. Its cause says what is wrong with the reply */
export async function acceptRelayedAck(delivery: Delivery, peer: KnownPeer, response: RelayedResponse): Promise<void> {
  const { context, data } = delivery
  const { deliveryJobId, payload } = data
  try {
    const ack = await readAck(delivery, response)
    const acked = { serverUrl: peer.url, publicKey: peer.publicKey, deliveryJobId, isRelayed: true }
    if (!acknowledges(await openAck(context, ack, acked), payload, peer.url)) {
      throw await ackInvalid(context, acked, 'it names something else')
    }
    await dispatchAck(delivery, peer, ack, true)
  } catch (cause) {
    const { message, reason } = response.direct as FederationError & { readonly reason?: unknown }
    throw new FederationError('TRANSPORT', message, { reason, cause })
  }
}
