// A request to a peer: directly and, where that fails in a way that a relay can help with, once by way of a relay.

import { FederationError } from '../errors.ts'
import type { HttpRequest, HttpResponse } from '../http/client.ts'
import { transportReasonOf } from '../http/transport-error.ts'
import { canonicalOrigin, originOfUrl } from '../origin.ts'
import type { SendingContext } from '../context.ts'
import { markServerUnhealthy } from './health.ts'
import { chooseRelay, relay } from './relay.ts'
import { getThreatPolicy } from './threat-policy.ts'

export interface FederationFetchOptions {
  /** @default 'GET', with a body 'POST' */
  readonly method?: HttpRequest['method']
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Over everything. @default policies.delivery.timeoutMs */
  readonly timeoutMs?: number
  /** Try a relay where the reason allows it. Only a POST can go that way. @default false */
  readonly proxyFallback?: boolean
  /** The peer that is marked. @default the origin of the URL */
  readonly serverUrl?: string
  /** Leave its health as it is. @default false */
  readonly skipHealthUpdate?: boolean
  readonly signal?: AbortSignal | undefined
}

export interface FederationResponse extends HttpResponse {
  /** The relay, if it came by one. */
  readonly via: string | undefined
}

/** @throws FederationError ADDRESS_REFUSED, ORIGIN_INVALID, TRANSPORT: the direct failure's; its cause is the relay's, if one was tried */
export async function federationFetch(
  context: SendingContext,
  url: string,
  options: FederationFetchOptions = {},
): Promise<FederationResponse> {
  const { body, method = body === undefined ? 'GET' : 'POST', headers = {}, signal } = options
  const { timeoutMs = context.policies.delivery.timeoutMs, proxyFallback = false, skipHealthUpdate = false } = options
  try {
    const request = { method, headers, timeoutMs, ...(body !== undefined && { body }), ...(signal && { signal }) }
    return { ...(await context.http.request(url, request)), via: undefined }
  } catch (error) {
    const reason = transportReasonOf(error)
    if (reason === undefined) throw error
    const { serverUrl } = options
    const target = serverUrl === undefined ? originOfUrl(url, context) : canonicalOrigin(serverUrl, context)
    if (!skipHealthUpdate) await markServerUnhealthy(context, target, reason)
    const mayRelay = proxyFallback && context.policies.relay.use && method === 'POST' && body !== undefined
    if (!mayRelay || !getThreatPolicy(context.policies, reason).proxyEligible) throw error
    return relayed(context, target, error as FederationError, {
      url,
      headers,
      body,
      timeoutMs,
      skipHealthUpdate,
      signal,
    })
  }
}

async function relayed(
  context: SendingContext,
  target: string,
  direct: FederationError,
  request: Parameters<typeof relay>[3],
): Promise<FederationResponse> {
  const peer = await context.store.peers.get(target)
  const via = peer && (await chooseRelay(context, target))
  if (!via) throw direct
  try {
    return { ...(await relay(context, via, peer, request)), via: via.url }
  } catch (error) {
    const { reason } = direct as { readonly reason?: unknown }
    throw new FederationError('TRANSPORT', direct.message, { reason, cause: error })
  }
}
