// The request handler of the receiving side. Every refusal is answered with { error, code }.

import type { FederationContext } from '../context.ts'
import { getDiscover } from './discover-get.ts'
import { postDiscover } from './discover-post.ts'
import { confirmRotation, initRotation } from './discover-rotate.ts'
import { answer, type Inbound, type InboundOptions, newInbound, type Route, spend } from './inbound.ts'
import { postInbox } from './inbox.ts'
import { postProxy } from './proxy.ts'
import { readJson } from './read-body.ts'
import { Refusal, refuse } from './refusal.ts'

export interface RequestSource {
  /** Address of the connection. Without it all requests share the budget of one address. */
  readonly remoteAddress?: string | undefined
}

/** Answers a web request. Errors are answered with a status; it rejects only if the tables cannot be opened. */
export type FederationHandler = (request: Request, from?: RequestSource) => Promise<Response>

export function createHandler(context: FederationContext, options: InboundOptions = {}): FederationHandler {
  return handlerOf(newInbound(context, options))
}

type Routes = Readonly<Record<string, Readonly<Partial<Record<'GET' | 'POST', Route>>>>>

export function handlerOf(inbound: Inbound): FederationHandler {
  const { inboxPaths } = inbound.context.policies.inbound
  const routes: Routes = {
    ...Object.fromEntries(inboxPaths.map((path) => [path, { POST: postInbox }])),
    '/discover': { GET: getDiscover, POST: postDiscover },
    '/discover/rotate/init': { POST: initRotation },
    '/discover/rotate/confirm': { POST: confirmRotation },
    '/proxy': { POST: postProxy },
  }
  return async (request, from = {}) => {
    try {
      return await handle(inbound, routes, request, from)
    } catch (error) {
      return refusalResponse(inbound, error)
    }
  }
}

async function handle(inbound: Inbound, routes: Routes, request: Request, from: RequestSource): Promise<Response> {
  const { clock, policies } = inbound.context
  const route = routeOf(routes, request)
  const address = inbound.addressOf(from.remoteAddress, request.headers.get('x-forwarded-for'))
  spend(inbound.limits.ip, address)
  if (request.method === 'GET') return route(inbound, { request, address, body: undefined })
  const limits = { clock, maxBytes: policies.inbound.maxBytes, timeoutMs: policies.delivery.timeoutMs }
  return route(inbound, { request, address, body: await readJson(request, limits) })
}

function routeOf(routes: Routes, { url, method }: Request): Route {
  const { pathname } = new URL(url)
  const verbs = Object.hasOwn(routes, pathname) ? routes[pathname] : undefined
  if (!verbs) throw refuse('NOT_FOUND', 'no such path')
  const route = Object.hasOwn(verbs, method) ? verbs[method as 'GET' | 'POST'] : undefined
  if (route) return route
  throw refuse('METHOD_NOT_ALLOWED', 'this path does not accept the HTTP method', {
    headers: { Allow: Object.keys(verbs).join(', ') },
  })
}

function refusalResponse({ context }: Inbound, error: unknown): Response {
  const isRefusal = error instanceof Refusal
  if (!isRefusal) context.logger?.error?.({ err: error }, 'federation: a request failed with an unexpected error')
  const { code, status, message, from, headers } = isRefusal ? error : refuse('INTERNAL_ERROR', 'internal error')
  context.emit('refused', { code, status, from })
  return answer(status, { error: message, code }, headers)
}
