// Step 6: sends the signed message.

import { FederationError, federationCodeOf, originMissing } from '../errors.ts'
import { federationFetch, type FederationResponse } from '../peers/federation-fetch.ts'
import { registerAgain } from '../peers/register-again.ts'
import type { EncryptedEnvelope } from '../wire/v1/messages.ts'
import { retryAfterMsOf } from './asked-to-wait.ts'
import type { Delivery } from './delivery.ts'
import { endAndKeep } from './end.ts'

export async function send(
  delivery: Delivery,
  origin: string,
  method: string,
  payload: EncryptedEnvelope,
  signature: string,
): Promise<FederationResponse> {
  const { context, data, signal } = delivery
  const { deliveryJobId, targetUrl } = data
  const own = context.origin
  if (own === undefined) {
    throw await endAndKeep(context, deliveryJobId, 'ORIGIN_MISSING', originMissing)
  }
  const headers = {
    'Content-Type': 'application/json',
    Origin: own,
    'X-Federation-Origin': own,
    'X-Federation-Target': headerOf(targetUrl),
  }
  const body = JSON.stringify({ method, payload, signature })
  const timeoutMs = context.policies.delivery.timeoutMs
  const options = { method: 'POST', headers, body, timeoutMs, proxyFallback: true, serverUrl: origin, signal } as const
  const response = await federationFetch(context, targetUrl, options).catch(async (error: unknown) => {
    const code = federationCodeOf(error)
    if (code !== 'ADDRESS_REFUSED' && code !== 'ORIGIN_INVALID') throw error
    const message = `delivery to ${origin}: this server may not be contacted. The delivery ended. See the option http.`
    throw await endAndKeep(context, deliveryJobId, code, message, error)
  })
  const { status } = response
  if (status >= 200 && status <= 299) return response
  if (response.via !== undefined) throw statusError(origin, status)
  await registerAgain(context, origin, response, signal)
  throw statusError(origin, status, retryAfterMsOf(delivery, response))
}

function statusError(origin: string, status: number, retryAfterMs?: number): FederationError {
  const next =
    retryAfterMs === undefined ? 'It is retried while attempts are left.' : `It asked for ${retryAfterMs} ms.`
  const message = `delivery to ${origin}: the server answered ${status}. ${next}`
  return new FederationError('HTTP_STATUS', message, { status, ...(retryAfterMs !== undefined && { retryAfterMs }) })
}

/** Returns the URL unchanged, unless it has characters that a header cannot hold. */
const headerOf = (url: string): string => (/^[\x21-\x7e]*$/.test(url) ? url : new URL(url).href)
