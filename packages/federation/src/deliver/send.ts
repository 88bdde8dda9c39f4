// Step 6: signed, and sent.

import { FederationError, federationCodeOf } from '../errors.ts'
import { federationFetch, type FederationResponse } from '../peers/federation-fetch.ts'
import { introduceAgain } from '../peers/introduce-again.ts'
import type { EncryptedEnvelope } from '../wire/v1/messages.ts'
import { signText } from '../wire/v1/signature.ts'
import type { Delivery } from './delivery.ts'
import { endAndKeep } from './end.ts'

export async function send(
  { context, data, signal }: Delivery,
  origin: string,
  method: string,
  payload: EncryptedEnvelope,
): Promise<FederationResponse> {
  const { deliveryJobId, targetUrl } = data
  const own = context.origin
  if (own === undefined) {
    throw await endAndKeep(context, deliveryJobId, 'ORIGIN_MISSING', 'the origin of this server is not set')
  }
  const signature = await signText(data.payload, context.keyring)
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
    throw await endAndKeep(context, deliveryJobId, code, `${origin} may not be contacted`, error)
  })
  const { status } = response
  if (status >= 200 && status <= 299) return response
  if (response.via === undefined) await introduceAgain(context, origin, response, signal)
  throw new FederationError('HTTP_STATUS', `${origin} answered ${status}`, { status })
}

/** As it is, unless a header cannot hold it. */
const headerOf = (url: string): string => (/^[\x21-\x7e]*$/.test(url) ? url : new URL(url).href)
