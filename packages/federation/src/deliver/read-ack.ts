// Step 7: finds the acknowledgement in a reply, direct or relayed.

import type { FederationDeliveryJob } from '../jobs.ts'
import type { FederationResponse } from '../peers/federation-fetch.ts'
import { isObject } from '../wire/v1/schema.ts'
import type { Delivery } from './delivery.ts'
import { endAndKeep, endForReply } from './end.ts'

/** Only its method is checked. The handler checks the rest. */
export type UncheckedAck = Readonly<Record<string, unknown>>

export async function readAck(
  { context, data }: Pick<Delivery, 'context' | 'data'>,
  { body, via }: Pick<FederationResponse, 'body' | 'via'>,
): Promise<UncheckedAck> {
  const to = { deliveryJobId: data.deliveryJobId, isRelayed: via !== undefined }
  let reply: unknown
  try {
    reply = JSON.parse(Buffer.from(body).toString())
  } catch {
    throw await endForReply(context, to, endAndKeep, 'RESPONSE_NOT_JSON', problem(data, 'is not JSON'))
  }
  const ack = isObject(reply) && isObject(reply['payload']) ? reply['payload'] : reply
  if (isObject(ack) && ack['method'] === 'PROXY_RESPONSE') return ack
  throw await endForReply(context, to, endAndKeep, 'ACK_MISSING', problem(data, 'is not an acknowledgement'))
}

const problem = ({ serverUrl }: FederationDeliveryJob, what: string): string =>
  `delivery to ${serverUrl}: the reply ${what}. The delivery ended. Check that targetUrl is an inbox of a federating server.`
