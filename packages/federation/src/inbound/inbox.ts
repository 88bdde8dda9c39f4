// POST to an inbox: a direct delivery.

import type { Route } from './inbound.ts'
import { receive } from './pipeline.ts'

export const postInbox: Route = (inbound, { request, body, address }) =>
  receive(inbound, body, request.headers.get('x-federation-origin'), address)
