// POST /proxy: something for us that came by a relay (TARGETED), or something that we are asked to relay (PROXY).

import { isObject } from '../wire/v1/schema.ts'
import type { Route } from './inbound.ts'
import { relayFor } from './proxy-relay.ts'
import { targeted } from './proxy-targeted.ts'
import { refuse } from './refusal.ts'

export const postProxy: Route = (inbound, call) => {
  const method = isObject(call.body) ? call.body['method'] : undefined
  if (method === 'TARGETED') return targeted(inbound, call)
  if (method === 'PROXY') return relayFor(inbound, call)
  throw refuse('INVALID_PAYLOAD', 'expected the method TARGETED or PROXY')
}
