// First contact: fetches the keys of a server, pins them, and registers with it.
// Invariant: a pin never changes here.

import { canonicalOrigin } from '../origin.ts'
import type { FederationContext } from '../context.ts'
import { encodeBase64 } from '../wire/v1/base64.ts'
import { Budget } from './budget.ts'
import { DiscoveryError } from './discovery-error.ts'
import { fetchKeys } from './fetch-keys.ts'

/** Discoveries of one federation: its budget, and those in progress by origin. */
class Discoveries {
  readonly running = new Map<string, Promise<string>>()
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
 * Returns the encryption key, base64. Concurrent calls for one origin share a discovery. Waits while the budget is used up.
 * @throws DiscoveryError UNREACHABLE, INVALID, PIN_MISMATCH, ADDRESS_REFUSED
 */
export async function discoverAndRegister(context: FederationContext, serverUrl: string): Promise<string> {
  const origin = originOf(context, serverUrl)
  for (;;) {
    const started = start(context, origin, undefined)
    if (typeof started !== 'number') return started
    await new Promise<void>((resolve) => void context.clock.after(started, resolve))
  }
}

/**
 * As discoverAndRegister(), for a delivery: it does not wait in its slot while the budget is used up.
 * @throws DiscoveryError as above; with `retryAfterMs` if the budget is used up: nothing was sent
 */
export async function discoverWithinBudget(
  context: FederationContext,
  origin: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  const started = start(context, origin, signal)
  if (typeof started !== 'number') return started
  const message = `discovery of ${origin}: not sent yet. More than policies.discovery.perMinute were started in this minute.`
  throw Object.assign(new DiscoveryError('UNREACHABLE', origin, message), { retryAfterMs: started })
}

/** Starts a discovery, or returns the ms until the budget allows it. */
function start(context: FederationContext, origin: string, signal: AbortSignal | undefined): Promise<string> | number {
  const { running, budget } = discoveriesOf(context)
  const shared = running.get(origin)
  if (shared) return shared
  const waitMs = budget.take()
  if (waitMs !== undefined) return waitMs
  const discovery = discover(context, origin, signal).finally(() => running.delete(origin))
  running.set(origin, discovery)
  return discovery
}

function originOf(context: FederationContext, serverUrl: string): string {
  try {
    return canonicalOrigin(serverUrl, context)
  } catch (error) {
    throw new DiscoveryError('INVALID', serverUrl.slice(0, 253), 'discovery: the URL does not name a server.', error)
  }
}

async function discover(context: FederationContext, origin: string, signal: AbortSignal | undefined): Promise<string> {
  const keys = await fetchKeys(context, origin, { signal })
  const verdict = await context.store.peers.pin(keys, context.clock.now(), {
    addressRange: keys.addressRange,
    isReached: true,
  })
  if (verdict === 'pinned_otherwise') {
    context.emit('pin_mismatch', { origin, from: 'discovery' })
    const message = `discovery of ${origin}: its keys differ from the pinned ones. The pin is unchanged. See peers.repin().`
    throw new DiscoveryError('PIN_MISMATCH', origin, message)
  }
  await register(context, origin, signal)
  return keys.encryptionPublicKey
}

/** Sends REGISTER with the keys of this server. A failure is not fatal, and the content of the reply is ignored. */
export async function register(
  context: FederationContext,
  origin: string,
  signal: AbortSignal | undefined,
): Promise<void> {
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
    if (status > 299) logger?.debug?.({ origin, status }, `REGISTER with ${origin}: the server answered ${status}`)
  } catch (error) {
    logger?.debug?.({ origin, code: (error as { code?: string }).code }, `REGISTER with ${origin}: no answer`)
  }
}
