// GET /discover: the origin and keys of this server, and a list of healthy peers.

import { answer, type Inbound, ownOrigin } from './inbound.ts'
import { ownKeys } from './peers.ts'

export async function getDiscover(inbound: Inbound): Promise<Response> {
  const { context } = inbound
  const url = ownOrigin(inbound)
  const { publishPeers, maxPeers } = context.policies.discover
  const known = publishPeers ? await context.store.peers.listHealthy(maxPeers) : []
  const peers = known.filter((peer) => peer.url !== url).map((peer) => ({ url: peer.url, isHealthy: true }))
  return answer(200, { url, ...ownKeys(context), peers })
}
