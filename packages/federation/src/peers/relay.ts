// A delivery that could not go directly, by way of a peer that forwards what it cannot read.

import { FederationError } from '../errors.ts'
import type { HttpResponse } from '../http/client.ts'
import { transportReasonOf } from '../http/transport-error.ts'
import type { SendingContext } from '../context.ts'
import type { PeerRow } from '../store/store.ts'
import { decodeBase64, encodeBase64 } from '../wire/v1/base64.ts'
import { encryptPayload } from '../wire/v1/envelope.ts'
import { signText } from '../wire/v1/signature.ts'
import { emergencySweep } from './emergency-sweep.ts'
import { markServerUnhealthy } from './health.ts'

/** What the target is to receive. */
export interface RelayedRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly timeoutMs: number
  readonly skipHealthUpdate: boolean
  readonly signal?: AbortSignal | undefined
}

const candidates = 8

/** A random one of the latest seen healthy peers; if there is none, unhealthy ones are asked first. */
export async function chooseRelay(context: SendingContext, target: string): Promise<PeerRow | undefined> {
  const found = await relaysFor(context, target)
  if (found.length > 0) return anyOf(context, found)
  if (!(await emergencySweep(context))) return undefined
  return anyOf(context, await relaysFor(context, target))
}

async function relaysFor({ store, origin }: SendingContext, target: string): Promise<PeerRow[]> {
  // Two more, for ourselves and the target may be among them.
  const healthy = await store.peers.listHealthy(candidates + 2)
  const others = healthy.filter(({ url }) => url !== origin && url !== target).slice(0, candidates)
  const blocked = await Promise.all(others.map(({ url }) => store.blacklist.matching(url)))
  return others.filter((_, index) => blocked[index] === undefined)
}

const anyOf = ({ clock }: SendingContext, peers: readonly PeerRow[]): PeerRow | undefined =>
  peers[Math.floor(clock.random() * peers.length)]

/** @throws FederationError HTTP_STATUS, TRANSPORT */
export async function relay(
  context: SendingContext,
  via: PeerRow,
  target: PeerRow,
  request: RelayedRequest,
): Promise<HttpResponse> {
  let response: HttpResponse
  try {
    response = await context.http.request(`${via.url}/proxy`, {
      method: 'POST',
      headers: headersOf(context),
      body: await messageFor(context, target, request),
      timeoutMs: request.timeoutMs,
      ...(request.signal && { signal: request.signal }),
    })
  } catch (error) {
    const reason = transportReasonOf(error)
    if (reason && !request.skipHealthUpdate) await markServerUnhealthy(context, via.url, reason)
    throw error
  }
  const { status } = response
  if (status >= 200 && status <= 299) return response
  // The relay did reach out, and what came back was no answer.
  if (status === 502 && !request.skipHealthUpdate) {
    await markServerUnhealthy(context, target.url, 'INVALID_RESPONSE_FROM_TARGET')
  }
  throw new FederationError('HTTP_STATUS', `the relay ${via.url} answered ${status}`, { status })
}

const headersOf = ({ origin }: SendingContext): Record<string, string> => ({
  'Content-Type': 'application/json',
  ...(origin !== undefined && { Origin: origin, 'X-Federation-Origin': origin }),
})

async function messageFor({ keyring }: SendingContext, target: PeerRow, request: RelayedRequest): Promise<string> {
  const { url, headers, body } = request
  const inner = JSON.stringify({ targetUrl: url, method: 'POST', headers, body })
  const key = decodeBase64(target.encryptionPublicKey, 32)
  if (!key) throw new FederationError('KEY_INVALID', `the key that is stored for ${target.url} is none`)
  return JSON.stringify({
    method: 'PROXY',
    targetUrl: `${target.url}/proxy`,
    publicSigningKey: encodeBase64(keyring.current('sig').publicKey),
    publicEncryptionKey: encodeBase64(keyring.current('enc').publicKey),
    payload: encryptPayload(inner, key),
    signature: await signText(inner, keyring),
  })
}
