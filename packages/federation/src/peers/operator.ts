// What the operator sees of peers, and may do with them.

import { HoldfastError } from 'holdfast'
import { FederationError } from '../errors.ts'
import { canonicalOrigin } from '../origin.ts'
import type { FederationContext } from '../context.ts'
import type { BlacklistRow, PeerRow } from '../store/store.ts'
import { fetchKeys } from './fetch-keys.ts'
import { markServerHealthy } from './health.ts'
import { answersAsPinned } from './probe.ts'

export interface PeerExplained {
  readonly origin: string
  readonly state: 'unknown' | 'healthy' | 'unhealthy' | 'blocked'
  /** The operator's reason for a block, or why it is unhealthy. */
  readonly why: string | undefined
  readonly healthChecks: number
  readonly lastSeen: number | undefined
  /** Deliveries that wait for it, as far as they were counted (1000). */
  readonly open: number
  readonly oldestOpenAt: number | undefined
  readonly lastError: string | undefined
  readonly publicKey: string | undefined
  readonly encryptionPublicKey: string | undefined
  readonly wire: 'v1'
}

export interface Peers {
  get(url: string): Promise<PeerRow | undefined>
  list(filter?: { readonly after?: string; readonly limit?: number }): Promise<PeerRow[]>
  explain(url: string): Promise<PeerExplained>
  /** Nothing goes there or is taken from there. `domain`: the host and all below it. */
  block(url: string, options?: { readonly match?: BlacklistRow['match']; readonly reason?: string }): Promise<void>
  unblock(url: string): Promise<boolean>
  /** Asks it now; marks it healthy if it answers with the pinned keys. */
  probe(url: string): Promise<boolean>
  /** Pins the keys that it shows now: only after you have made sure that they are its own. */
  repin(url: string): Promise<void>
  /** Not in this profile. @throws HoldfastError FEATURE_UNSUPPORTED */
  pause(url: string): Promise<never>
  /** Not in this profile. @throws HoldfastError FEATURE_UNSUPPORTED */
  resume(url: string): Promise<never>
}

export function peersOf(context: FederationContext, open: () => Promise<void>): Peers {
  const { store, clock, policies } = context
  const originOf = async (url: string): Promise<string> => {
    const origin = canonicalOrigin(url, context)
    await open()
    return origin
  }
  return {
    get: async (url) => store.peers.get(await originOf(url)),
    list: async ({ after, limit = 100 } = {}) => {
      await open()
      return store.peers.list({ limit, ...(after !== undefined && { after }) })
    },
    explain: async (url) => explain(context, await originOf(url)),
    block: async (url, { match = 'origin', reason = '' } = {}) => {
      await store.blacklist.add({ serverUrl: await originOf(url), match, reason, createdAt: clock.now() })
    },
    unblock: async (url) => store.blacklist.remove(await originOf(url)),
    probe: async (url) => {
      const peer = await store.peers.get(await originOf(url))
      const isBack = peer !== undefined && (await answersAsPinned(context, peer, policies.health))
      if (isBack) await markServerHealthy(context, peer.url)
      return isBack
    },
    repin: async (url) => {
      const origin = await originOf(url)
      const keys = await fetchKeys(context, origin)
      if (await store.peers.repin(keys, clock.now())) return
      throw new FederationError('UNREACHABLE', `${origin} is not known here: there is nothing to pin anew`)
    },
    pause: unsupported,
    resume: unsupported,
  }
}

async function unsupported(): Promise<never> {
  throw new HoldfastError('FEATURE_UNSUPPORTED', 'peers can be paused in the profile `hardened` only')
}

async function explain({ store }: FederationContext, origin: string): Promise<PeerExplained> {
  const [peer, block] = await Promise.all([store.peers.get(origin), store.blacklist.matching(origin)])
  const waiting = await store.deliveries.list({ serverUrl: origin, status: 'open', limit: 1_000 })
  const oldest = waiting.toSorted((a, b) => a.createdAt - b.createdAt)[0]
  const failing = waiting.filter(({ lastError }) => lastError !== undefined)
  const last = failing.toSorted((a, b) => (b.lastAttemptedAt ?? 0) - (a.lastAttemptedAt ?? 0))[0]
  return {
    origin,
    state: block ? 'blocked' : !peer ? 'unknown' : peer.isHealthy ? 'healthy' : 'unhealthy',
    why: block?.reason ?? peer?.unhealthyReason,
    healthChecks: peer?.healthCheckAttempts ?? 0,
    lastSeen: peer?.lastSeen,
    open: waiting.length,
    oldestOpenAt: oldest?.createdAt,
    lastError: last?.lastError,
    publicKey: peer?.publicKey,
    encryptionPublicKey: peer?.encryptionPublicKey,
    wire: 'v1',
  }
}
