// The operator's view of peers: reading, blocking, probing and pinning.

import type { Queue } from 'holdfast'
import { FederationError } from '../errors.ts'
import { canonicalOrigin } from '../origin.ts'
import type { FederationContext, SendingContext } from '../context.ts'
import type { BlacklistRow, PeerRow } from '../store/store.ts'
import { fetchKeys } from './fetch-keys.ts'
import { markServerHealthy } from './health.ts'
import type { PeerState } from './peer-state.ts'
import { answersAsPinned } from './probe.ts'

export interface PeerExplanation {
  readonly origin: string
  readonly state: 'unknown' | 'healthy' | 'unhealthy' | 'blocked'
  /** The operator's reason for a block, or the reason for an unhealthy state. */
  readonly why: string | undefined
  /** Failed health checks of the current series. */
  readonly healthChecks: number
  /** Epoch ms. */
  readonly lastSeen: number | undefined
  /** Deliveries that wait for this peer; at most 1,000 are counted. */
  readonly open: number
  /** Epoch ms. */
  readonly oldestOpenAt: number | undefined
  /** Code of the latest failed attempt among the waiting deliveries. */
  readonly lastError: string | undefined
  readonly publicKey: string | undefined
  readonly encryptionPublicKey: string | undefined
  readonly wire: 'v1'
  /** State of the contacts with this peer, in the profile `hardened`: failures in a row, and the next contact. */
  readonly contact: PeerState | undefined
}

/** Methods that take a URL throw FederationError ORIGIN_INVALID if it does not name a server. */
export interface Peers {
  get(url: string): Promise<PeerRow | undefined>
  /** Returns rows in the order of their origins. @param filter.after the last origin of the previous page @param filter.limit default 100 */
  list(filter?: { readonly after?: string; readonly limit?: number }): Promise<PeerRow[]>
  /** Returns the state of a peer, its cause, and what waits for it. */
  explain(url: string): Promise<PeerExplanation>
  /** Refuses deliveries to and messages from this server. `match: 'domain'` covers the host and its subdomains. @default match 'origin' */
  block(url: string, options?: { readonly match?: BlacklistRow['match']; readonly reason?: string }): Promise<void>
  /** Removes a block. Returns false if there was none. */
  unblock(url: string): Promise<boolean>
  /** Checks a peer now. Marks it healthy, lets its deliveries go on, and returns true, if it answers with the pinned keys. */
  probe(url: string): Promise<boolean>
  /** Replaces the pin with the keys that the server shows now. Compare them over another channel first. @throws DiscoveryError */
  repin(url: string): Promise<void>
  /** Forgets a server and its pin. Returns false if it was not known. The next contact pins the keys that it shows then. */
  remove(url: string): Promise<boolean>
  /** Starts no delivery to this server until resume(), in all processes. They wait, and spend no attempt. @param options.by the operator */
  pause(url: string, options?: { readonly by?: string }): Promise<void>
  /** Takes back pause(). */
  resume(url: string, options?: { readonly by?: string }): Promise<void>
}

export function peersOf(
  context: SendingContext,
  queue: Pick<Queue<unknown>, 'pause' | 'resume'>,
  open: () => Promise<void>,
): Peers {
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
      const isHealthy = peer !== undefined && (await answersAsPinned(context, peer, policies.health))
      if (!isHealthy) return false
      await markServerHealthy(context, peer.url)
      await context.contacts?.heard(context, peer.url)
      return true
    },
    repin: async (url) => {
      const origin = await originOf(url)
      const keys = await fetchKeys(context, origin)
      if (await store.peers.repin(keys, clock.now())) return
      throw new FederationError('UNREACHABLE', `peers.repin: no keys are pinned for ${origin}. Nothing was changed.`)
    },
    remove: async (url) => store.peers.remove(await originOf(url)),
    pause: async (url, { by } = {}) => queue.pause({ group: await originOf(url), by }),
    resume: async (url, { by } = {}) => queue.resume({ group: await originOf(url), by }),
  }
}

async function explain({ store }: FederationContext, origin: string): Promise<PeerExplanation> {
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
    contact: await store.peerStates.get(origin),
  }
}
