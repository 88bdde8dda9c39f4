// POST /discover: a server registers its keys (REGISTER), or compares them with the pinned ones (DISCOVER).

import { isObject } from '../wire/v1/schema.ts'
import { discover } from './discover-discover.ts'
import type { Route } from './inbound.ts'
import { refuse } from './refusal.ts'
import { register } from './discover-register.ts'

export const postDiscover: Route = (inbound, call) => {
  const method = isObject(call.body) ? call.body['method'] : undefined
  if (method === 'REGISTER') return register(inbound, call)
  if (method === 'DISCOVER') return discover(inbound, call)
  throw refuse('INVALID_PAYLOAD', 'method: expected REGISTER or DISCOVER')
}
