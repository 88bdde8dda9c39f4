// Reads of an attempt that need only the origin of its peer. They begin together with the read of its row: one after the other they are four
// round trips to Postgres before the first byte is sent.

import type { SendingContext } from '../context.ts'
import type { FederationDeliveryJob } from '../jobs.ts'
import { peerGroup } from '../peers/slots.ts'
import type { PeerState } from '../peers/peer-state.ts'
import type { BlacklistRow, PeerRow } from '../store/store.ts'

export interface ReadAhead {
  readonly origin: string
  readonly block: Promise<BlacklistRow | undefined>
  readonly peer: Promise<PeerRow | undefined>
  /** In the profile `seed` always undefined. */
  readonly state: Promise<PeerState | undefined>
}

/** Undefined if the job does not name a server. The attempt ends before it would read. */
export function readAhead(
  { store, allowHttp, contacts }: SendingContext,
  { serverUrl }: FederationDeliveryJob,
): ReadAhead | undefined {
  const origin = peerGroup(serverUrl, { allowHttp })
  if (origin === undefined) return undefined
  const [block, peer] = [store.blacklist.matching(origin), store.peers.get(origin)]
  const state = contacts ? store.peerStates.get(origin) : Promise.resolve(undefined)
  // Not unhandled if the attempt ends before it waits for them.
  for (const read of [block, peer, state]) read.catch(() => {})
  return { origin, block, peer, state }
}
