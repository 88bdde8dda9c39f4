// A request to a peer: direct, and once more by a relay if the direct one fails for a reason that allows it.

import { FederationError } from '../errors.ts'
import type { HttpRequest, HttpResponse } from '../http/client.ts'
import { transportReasonOf } from '../http/transport-error.ts'
import { canonicalOrigin, originOfUrl } from '../origin.ts'
import type { SendingContext } from '../context.ts'
import { markServerUnhealthy } from './health.ts'
import { chooseRelay, relay } from './relay.ts'
import { getThreatPolicy } from './threat-policy.ts'

export interface FederationFetchOptions {
  /** HTTP method. @default 'GET'; with a body 'POST' */
  readonly method?: HttpRequest['method']
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Deadline of each request in ms, reply included. @default policies.delivery.timeoutMs */
  readonly timeoutMs?: number
  /** Try a relay if the reason allows it. Only a POST can be relayed. @default false */
  readonly proxyFallback?: boolean
  /** Origin of the peer that a failure marks. @default the origin of the URL */
  readonly serverUrl?: string
  /** Do not mark the peer on failure. @default false */
  readonly skipHealthUpdate?: boolean
  readonly signal?: AbortSignal | undefined
}

export interface FederationResponse extends HttpResponse {
  /** Origin of the relay; undefined for a direct reply. */
  readonly via: string | undefined
}

/** A reply by a relay. */
export interface RelayedResponse extends FederationResponse {
  readonly via: string
  /** Why the direct request failed. */
  readonly direct: FederationError
}

/** @throws FederationError ADDRESS_REFUSED, ORIGIN_INVALID; TRANSPORT: of the direct request. Its cause is the relay's error, if one was used */
export async function federationFetch(
  context: SendingContext,
  url: string,
  options: FederationFetchOptions = {},
): Promise<FederationResponse> {
  const { body, method = body === undefined ? 'GET' : 'POST', headers = {}, signal } = options
  const { timeoutMs = context.policies.delivery.timeoutMs, proxyFallback = false, skipHealthUpdate = false } = options
  const { clock, metrics } = context
  const startedAt = clock.monotonic()
  const measure = (): void => metrics.observe('request', (clock.monotonic() - startedAt) / 1_000)
  try {
    const request = { method, headers, timeoutMs, ...(body !== undefined && { body }), ...(signal && { signal }) }
    return { ...(await context.http.request(url, request).finally(measure)), via: undefined }
  } catch (error) {
    const reason = transportReasonOf(error)
    if (reason === undefined) throw error
    const { serverUrl } = options
    const target = serverUrl === undefined ? originOfUrl(url, context) : canonicalOrigin(serverUrl, context)
    if (!skipHealthUpdate) await markServerUnhealthy(context, target, reason)
    const mayRelay = proxyFallback && context.policies.relay.use && method === 'POST' && body !== undefined
    if (!mayRelay || !getThreatPolicy(context.policies, reason).proxyEligible) throw error
    return fetchByRelay(context, target, error as FederationError, {
      url,
      headers,
      body,
      timeoutMs,
      skipHealthUpdate,
      signal,
    })
  }
}

async function fetchByRelay(
  context: SendingContext,
  target: string,
  direct: FederationError,
  request: Parameters<typeof relay>[3],
): Promise<RelayedResponse> {
  const peer = await context.store.peers.get(target)
  const via = peer && (await chooseRelay(context, target))
  if (!via) throw direct
  try {
    return { ...(await relay(context, via, peer, request)), via: via.url, direct }
  } catch (error) {
    const { reason } = direct as { readonly reason?: unknown }
    throw new FederationError('TRANSPORT', direct.message, { reason, cause: error })
  }
}
