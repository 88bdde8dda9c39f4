// Step 7: the acknowledgement in a reply, whether it came directly or by a relay.

import type { HttpResponse } from '../http/client.ts'
import { isObject } from '../wire/v1/schema.ts'
import type { Delivery } from './delivery.ts'
import { endAndKeep } from './end.ts'

/** Not checked any further than its method: that is its handler's. */
export type UncheckedAck = Readonly<Record<string, unknown>>

export async function readAck({ context, data }: Delivery, { body }: HttpResponse): Promise<UncheckedAck> {
  let reply: unknown
  try {
    reply = JSON.parse(Buffer.from(body).toString())
  } catch {
    throw await endAndKeep(context, data.deliveryJobId, 'RESPONSE_NOT_JSON', 'the reply is no JSON')
  }
  const ack = isObject(reply) && isObject(reply['payload']) ? reply['payload'] : reply
  if (isObject(ack) && ack['method'] === 'PROXY_RESPONSE') return ack
  throw await endAndKeep(context, data.deliveryJobId, 'ACK_MISSING', 'the reply is no acknowledgement')
}
