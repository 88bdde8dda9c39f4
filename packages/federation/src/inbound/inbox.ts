// POST to an inbox: a delivery that came directly.

import type { Route } from './inbound.ts'
import { receive } from './pipeline.ts'

export const postInbox: Route = (inbound, { request, body }) =>
  receive(inbound, body, request.headers.get('x-federation-origin'))
