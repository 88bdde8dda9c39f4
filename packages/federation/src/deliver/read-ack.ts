// Step 7: finds the acknowledgement in a reply, direct or relayed.

import type { HttpResponse } from '../http/client.ts'
import type { FederationDeliveryJob } from '../jobs.ts'
import { isObject } from '../wire/v1/schema.ts'
import type { Delivery } from './delivery.ts'
import { endAndKeep } from './end.ts'

/** Only its method is checked. The handler checks the rest. */
export type UncheckedAck = Readonly<Record<string, unknown>>

export async function readAck({ context, data }: Delivery, { body }: HttpResponse): Promise<UncheckedAck> {
  let reply: unknown
  try {
    reply = JSON.parse(Buffer.from(body).toString())
  } catch {
    throw await endAndKeep(context, data.deliveryJobId, 'RESPONSE_NOT_JSON', problem(data, 'is not JSON'))
  }
  const ack = isObject(reply) && isObject(reply['payload']) ? reply['payload'] : reply
  if (isObject(ack) && ack['method'] === 'PROXY_RESPONSE') return ack
  throw await endAndKeep(context, data.deliveryJobId, 'ACK_MISSING', problem(data, 'is not an acknowledgement'))
}

const problem = ({ serverUrl }: FederationDeliveryJob, what: string): string =>
  `delivery to ${serverUrl}: the reply ${what}. The delivery ended. Check that targetUrl is an inbox of a federating server.`
