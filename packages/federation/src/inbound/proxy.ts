// POST /proxy: a message to this server that came by a relay (TARGETED), or a message that this server is to relay (PROXY).

import { isObject } from '../wire/v1/schema.ts'
import type { Route } from './inbound.ts'
import { relayFor } from './proxy-relay.ts'
import { receiveTargeted } from './proxy-targeted.ts'
import { refuse } from './refusal.ts'

export const postProxy: Route = (inbound, call) => {
  const method = isObject(call.body) ? call.body['method'] : undefined
  if (method === 'TARGETED') return receiveTargeted(inbound, call)
  if (method === 'PROXY') return relayFor(inbound, call)
  throw refuse('INVALID_PAYLOAD', 'method: expected TARGETED or PROXY')
}
