// First contact: the keys of a server are fetched, pinned, and it is told ours. A pin never changes here.

import { canonicalOrigin } from '../origin.ts'
import type { Setting } from '../setting.ts'
import { encodeBase64 } from '../wire/v1/base64.ts'
import { Budget } from './budget.ts'
import { DiscoveryError } from './discovery-error.ts'
import { fetchKeys } from './fetch-keys.ts'

/** Discoveries of one federation: how many a minute, and which are under way. */
class Discoveries {
  readonly underWay = new Map<string, Promise<string>>()
  readonly budget: Budget
  constructor({ clock, policies }: Setting) {
    this.budget = new Budget(clock, policies.discovery.perMinute, 60_000)
  }
}

const discoveries = new WeakMap<Setting['http'], Discoveries>()

function discoveriesOf(setting: Setting): Discoveries {
  const known = discoveries.get(setting.http) ?? new Discoveries(setting)
  discoveries.set(setting.http, known)
  return known
}

/**
 * Gives the encryption key, base64. Those who ask for one origin at the same time share one discovery.
 * @throws DiscoveryError UNREACHABLE, INVALID, PIN_MISMATCH, ADDRESS_REFUSED
 */
export async function discoverAndRegister(setting: Setting, serverUrl: string, signal?: AbortSignal): Promise<string> {
  const origin = originOf(setting, serverUrl)
  const { underWay, budget } = discoveriesOf(setting)
  const shared = underWay.get(origin)
  if (shared) return shared
  if (!budget.take()) {
    throw new DiscoveryError('UNREACHABLE', origin, `${origin} was not asked: too many discoveries this minute`)
  }
  const discovery = discover(setting, origin, signal).finally(() => underWay.delete(origin))
  underWay.set(origin, discovery)
  return discovery
}

function originOf(setting: Setting, serverUrl: string): string {
  try {
    return canonicalOrigin(serverUrl, setting)
  } catch (error) {
    throw new DiscoveryError('INVALID', serverUrl.slice(0, 253), 'this URL names no server', error)
  }
}

async function discover(setting: Setting, origin: string, signal: AbortSignal | undefined): Promise<string> {
  const keys = await fetchKeys(setting, origin, { signal })
  const verdict = await setting.store.peers.pin(keys, setting.clock.now())
  if (verdict === 'pinned_otherwise') {
    setting.emit('pin_mismatch', { origin, from: 'discovery' })
    throw new DiscoveryError('PIN_MISMATCH', origin, `${origin} shows other keys than those that are pinned`)
  }
  await register(setting, origin, signal)
  return keys.encryptionPublicKey
}

/** Tells a server our keys. Its failure is not fatal, and its answer says nothing that would be believed. */
export async function register(setting: Setting, origin: string, signal: AbortSignal | undefined): Promise<void> {
  const { keyring, http, policies, log } = setting
  if (setting.origin === undefined) return
  const body = JSON.stringify({
    method: 'REGISTER',
    url: setting.origin,
    publicKey: encodeBase64(keyring.current('sig').publicKey),
    encryptionPublicKey: encodeBase64(keyring.current('enc').publicKey),
  })
  const headers = { 'Content-Type': 'application/json', Origin: setting.origin, 'X-Federation-Origin': setting.origin }
  try {
    const { status } = await http.request(`${origin}/discover`, {
      method: 'POST',
      headers,
      body,
      timeoutMs: policies.discovery.timeoutMs,
      ...(signal && { signal }),
    })
    if (status > 299) log?.debug?.({ origin, status }, `${origin} did not register us`)
  } catch (error) {
    log?.debug?.({ origin, code: (error as { code?: string }).code }, `${origin} could not be told our keys`)
  }
}
