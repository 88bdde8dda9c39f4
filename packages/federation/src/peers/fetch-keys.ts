// Fetches the keys of a server. A reply is accepted only for the origin that it was fetched from. Nothing is written here.

import { FederationError, federationCodeOf } from '../errors.ts'
import { operatorRange } from '../http/address-range.ts'
import type { HttpResponse } from '../http/client.ts'
import { canonicalOrigin } from '../origin.ts'
import type { FederationContext } from '../context.ts'
import type { PeerKeys } from '../store/store.ts'
import { parseJson } from '../wire/v1/json.ts'
import { readPublicKey } from '../wire/v1/public-key.ts'
import { isObject } from '../wire/v1/schema.ts'
import { DiscoveryError } from './discovery-error.ts'

export interface FetchKeysOptions {
  /** Deadline in ms. @default policies.discovery.timeoutMs */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal | undefined
}

/** Keys, and the range of the address that they were fetched from. */
export interface FetchedKeys extends PeerKeys {
  readonly addressRange: string | undefined
}

type FetchContext = Pick<FederationContext, 'http' | 'policies' | 'allowHttp'>

/** @param origin canonical @throws DiscoveryError UNREACHABLE, INVALID, ADDRESS_REFUSED */
export async function fetchKeys(
  context: FetchContext,
  origin: string,
  options: FetchKeysOptions = {},
): Promise<FetchedKeys> {
  const { timeoutMs = context.policies.discovery.timeoutMs, signal } = options
  let response: HttpResponse
  try {
    response = await context.http.request(`${origin}/discover`, {
      method: 'GET',
      headers: { Accept: 'application/json' },
      timeoutMs,
      ...(signal && { signal }),
    })
  } catch (error) {
    throw requestFailed(origin, error)
  }
  if (response.status < 200 || response.status > 299) {
    const cause = new FederationError('HTTP_STATUS', `GET /discover: ${response.status}`, { status: response.status })
    throw new DiscoveryError(
      'INVALID',
      origin,
      `discovery of ${origin}: the server answered ${response.status}.`,
      cause,
    )
  }
  const keys = keysIn(response.body, origin, context.allowHttp)
  if (keys) return { ...keys, addressRange: operatorRange(response.remoteAddress) }
  throw new DiscoveryError(
    'INVALID',
    origin,
    `discovery of ${origin}: the reply has no valid url and keys of this server.`,
  )
}

function requestFailed(origin: string, cause: unknown): unknown {
  const code = federationCodeOf(cause)
  if (code === 'ADDRESS_REFUSED') {
    return new DiscoveryError(code, origin, `discovery of ${origin}: this server may not be contacted.`, cause)
  }
  if (code === 'ORIGIN_INVALID') {
    return new DiscoveryError('INVALID', origin, 'discovery: the URL does not name a server.', cause)
  }
  return new DiscoveryError('UNREACHABLE', origin, `discovery of ${origin}: the server did not answer.`, cause)
}

function keysIn(body: Uint8Array, origin: string, allowHttp: boolean): PeerKeys | undefined {
  const reply = parseJson(Buffer.from(body).toString())?.value
  if (!isObject(reply) || typeof reply['url'] !== 'string') return undefined
  const { publicKey, encryptionPublicKey } = reply
  try {
    if (canonicalOrigin(reply['url'], { allowHttp }) !== origin) return undefined
  } catch {
    return undefined
  }
  if (!readPublicKey('sig', publicKey) || !readPublicKey('enc', encryptionPublicKey)) return undefined
  return { url: origin, publicKey: publicKey as string, encryptionPublicKey: encryptionPublicKey as string }
}

export function sameKeys(a: PeerKeys, b: PeerKeys): boolean {
  return a.publicKey === b.publicKey && a.encryptionPublicKey === b.encryptionPublicKey
}
