// First contact: the keys of a server are fetched, pinned, and it is told ours. A pin never changes here.

import { canonicalOrigin } from '../origin.ts'
import type { FederationContext } from '../context.ts'
import { encodeBase64 } from '../wire/v1/base64.ts'
import { Budget } from './budget.ts'
import { DiscoveryError } from './discovery-error.ts'
import { fetchKeys } from './fetch-keys.ts'

/** Discoveries of one federation: how many a minute, and which are under way. */
class Discoveries {
  readonly underWay = new Map<string, Promise<string>>()
  readonly budget: Budget
  constructor({ clock, policies }: FederationContext) {
    this.budget = new Budget(clock, policies.discovery.perMinute, 60_000)
  }
}

const discoveries = new WeakMap<FederationContext['http'], Discoveries>()

function discoveriesOf(context: FederationContext): Discoveries {
  const known = discoveries.get(context.http) ?? new Discoveries(context)
  discoveries.set(context.http, known)
  return known
}

/**
 * Gives the encryption key, base64. Those who ask for one origin at the same time share one discovery.
 * @throws DiscoveryError UNREACHABLE, INVALID, PIN_MISMATCH, ADDRESS_REFUSED
 */
export async function discoverAndRegister(context: FederationContext, serverUrl: string, signal?: AbortSignal): Promise<string> {
  const origin = originOf(context, serverUrl)
  const { underWay, budget } = discoveriesOf(context)
  const shared = underWay.get(origin)
  if (shared) return shared
  if (!budget.take()) {
    throw new DiscoveryError('UNREACHABLE', origin, `${origin} was not asked: too many discoveries this minute`)
  }
  const discovery = discover(context, origin, signal).finally(() => underWay.delete(origin))
  underWay.set(origin, discovery)
  return discovery
}

function originOf(context: FederationContext, serverUrl: string): string {
  try {
    return canonicalOrigin(serverUrl, context)
  } catch (error) {
    throw new DiscoveryError('INVALID', serverUrl.slice(0, 253), 'this URL names no server', error)
  }
}

async function discover(context: FederationContext, origin: string, signal: AbortSignal | undefined): Promise<string> {
  const keys = await fetchKeys(context, origin, { signal })
  const verdict = await context.store.peers.pin(keys, context.clock.now())
  if (verdict === 'pinned_otherwise') {
    context.emit('pin_mismatch', { origin, from: 'discovery' })
    throw new DiscoveryError('PIN_MISMATCH', origin, `${origin} shows other keys than those that are pinned`)
  }
  await register(context, origin, signal)
  return keys.encryptionPublicKey
}

/** Tells a server our keys. Its failure is not fatal, and its answer says nothing that would be believed. */
export async function register(context: FederationContext, origin: string, signal: AbortSignal | undefined): Promise<void> {
  const { keyring, http, policies, logger } = context
  if (context.origin === undefined) return
  const body = JSON.stringify({
    method: 'REGISTER',
    url: context.origin,
    publicKey: encodeBase64(keyring.current('sig').publicKey),
    encryptionPublicKey: encodeBase64(keyring.current('enc').publicKey),
  })
  const headers = { 'Content-Type': 'application/json', Origin: context.origin, 'X-Federation-Origin': context.origin }
  try {
    const { status } = await http.request(`${origin}/discover`, {
      method: 'POST',
      headers,
      body,
      timeoutMs: policies.discovery.timeoutMs,
      ...(signal && { signal }),
    })
    if (status > 299) logger?.debug?.({ origin, status }, `${origin} did not register us`)
  } catch (error) {
    logger?.debug?.({ origin, code: (error as { code?: string }).code }, `${origin} could not be told our keys`)
  }
}
