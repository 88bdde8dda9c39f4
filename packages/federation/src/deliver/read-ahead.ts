// Reads of an attempt that need only the origin of its peer. They begin together with the read of its row: one after the other they are three
// round trips to Postgres before the first byte is sent.

import type { SendingContext } from '../context.ts'
import type { FederationDeliveryJob } from '../jobs.ts'
import { peerGroup } from '../peers/slots.ts'
import type { BlacklistRow, PeerRow } from '../store/store.ts'

export interface ReadAhead {
  readonly origin: string
  readonly block: Promise<BlacklistRow | undefined>
  readonly peer: Promise<PeerRow | undefined>
}

/** Undefined if the job does not name a server. The attempt ends before it would read. */
export function readAhead(
  { store, allowHttp }: SendingContext,
  { serverUrl }: FederationDeliveryJob,
): ReadAhead | undefined {
  const origin = peerGroup(serverUrl, { allowHttp })
  if (origin === undefined) return undefined
  const ahead = { origin, block: store.blacklist.matching(origin), peer: store.peers.get(origin) }
  // Not unhandled if the attempt ends before it waits for them.
  for (const read of [ahead.block, ahead.peer]) read.catch(() => {})
  return ahead
}
