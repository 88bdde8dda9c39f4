// Sends a delivery by a relay: a healthy peer that forwards the encrypted message.

import { FederationError } from '../errors.ts'
import type { HttpResponse } from '../http/client.ts'
import { transportReasonOf } from '../http/transport-error.ts'
import type { SendingContext } from '../context.ts'
import type { PeerRow } from '../store/store.ts'
import { decodeBase64, encodeBase64 } from '../wire/v1/base64.ts'
import { encryptPayload } from '../wire/v1/envelope.ts'
import type { EncryptedEnvelope } from '../wire/v1/messages.ts'
import { proveRelayed, relayProofHeader } from '../wire/v1/relay-proof.ts'
import { signText } from '../wire/v1/signature.ts'
import { emergencySweep } from './emergency-sweep.ts'
import { markServerUnhealthy } from './health.ts'
import { siteOf } from './site.ts'

/** The request that the target receives. */
export interface RelayedRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly timeoutMs: number
  readonly skipHealthUpdate: boolean
  readonly signal?: AbortSignal | undefined
}

const candidates = 8

/** Most recently seen peers among which the candidates are. */
const considered = 200

/** Returns a random one of 8 candidates, the most recently seen ones. Without a candidate, an emergency sweep comes first. */
export async function chooseRelay(context: SendingContext, target: string): Promise<PeerRow | undefined> {
  const found = await listRelays(context, target)
  if (found.length > 0) return randomOf(context, found)
  if (!(await emergencySweep(context))) return undefined
  return randomOf(context, await listRelays(context, target))
}

/**
 * Peers that this server has reached before, at most one of a site and of an address range: else the owner of many names could be all of
 * the candidates.
 */
async function listRelays({ store, origin }: SendingContext, target: string): Promise<PeerRow[]> {
  const owners = new Set<string>()
  const others = (await store.peers.listReached(considered)).filter(({ url, addressRange = url }) => {
    if (url === origin || url === target || owners.has(siteOf(url)) || owners.has(addressRange)) return false
    owners.add(siteOf(url)).add(addressRange)
    return true
  })
  const chosen = others.slice(0, candidates)
  const blocked = await Promise.all(chosen.map(({ url }) => store.blacklist.matching(url)))
  return chosen.filter((_, index) => blocked[index] === undefined)
}

const randomOf = ({ clock }: SendingContext, peers: readonly PeerRow[]): PeerRow | undefined =>
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
    const message = await messageFor(context, target, request)
    response = await context.http.request(`${via.url}/proxy`, {
      method: 'POST',
      headers: await headersOf(context, via, target, message.payload),
      body: JSON.stringify(message),
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
  // The relay reached the target, and the target did not answer properly.
  if (status === 502 && !request.skipHealthUpdate) {
    await markServerUnhealthy(context, target.url, 'INVALID_RESPONSE_FROM_TARGET')
  }
  throw new FederationError('HTTP_STATUS', `relay ${via.url}: it answered ${status}.`, { status })
}

async function headersOf(
  { origin, keyring, clock }: SendingContext,
  { url: via }: PeerRow,
  { url: to }: PeerRow,
  payload: EncryptedEnvelope,
): Promise<Record<string, string>> {
  const type = { 'Content-Type': 'application/json' }
  if (origin === undefined) return type
  const proof = await proveRelayed({ from: origin, via, to, payload }, clock.now(), keyring)
  return { ...type, Origin: origin, 'X-Federation-Origin': origin, [relayProofHeader]: proof }
}

interface ProxyMessage {
  readonly payload: EncryptedEnvelope
}

async function messageFor(
  { keyring }: SendingContext,
  target: PeerRow,
  request: RelayedRequest,
): Promise<ProxyMessage> {
  const { url, headers, body } = request
  const inner = JSON.stringify({ targetUrl: url, method: 'POST', headers, body })
  const key = decodeBase64(target.encryptionPublicKey, 32)
  if (!key) throw new FederationError('KEY_INVALID', `relay to ${target.url}: the pinned encryption key is not a key.`)
  const message = {
    method: 'PROXY',
    targetUrl: `${target.url}/proxy`,
    publicSigningKey: encodeBase64(keyring.current('sig').publicKey),
    publicEncryptionKey: encodeBase64(keyring.current('enc').publicKey),
    payload: encryptPayload(inner, key),
    signature: await signText(inner, keyring),
  }
  return message
}
