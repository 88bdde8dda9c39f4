// The other servers of a federation, with what waits for each; those that need attention first.

import type { Answer, PeerRow, PeersPage } from '../../shared/api.ts'
import { RequestError } from '../http/errors.ts'
import type { PeerActions, PeerReport } from '../peers.ts'
import { answerOf, type Context } from '../route.ts'
import { readCounts } from './counts.ts'

/** Each server is a read of its own. */
const [peersMs, mostPeers] = [5_000, 100]

export async function peers(context: Context): Promise<Answer<PeersPage>> {
  const actions = peersOf(context)
  const { value: counts } = await readCounts(context)
  const paused = new Set(counts.types.flatMap(({ pausedGroups }) => pausedGroups.map(({ group }) => group)))
  const read = await context.reads.read('peers', peersMs, async () => {
    const known = await actions.list({ limit: mostPeers + 1 })
    const shown = await Promise.all(known.slice(0, mostPeers).map(({ url }) => actions.explain(url)))
    return { shown, hasMore: known.length > mostPeers }
  })
  return answerOf(read, ({ shown, hasMore }) => ({
    peers: shown.map((peer): PeerRow => rowOf(peer, paused.has(peer.origin))).toSorted(worstFirst),
    hasMore,
  }))
}

/** @throws RequestError 404 */
export function peersOf({ peers: actions }: Context): PeerActions {
  if (actions) return actions
  throw new RequestError(404, 'NO_PEERS', 'createDashboard() was given no peers, so there is no federation to show.')
}

function rowOf(peer: PeerReport, isPaused: boolean): PeerRow {
  const { origin, state, why, lastSeen, open, oldestOpenAt, lastError, contact } = peer
  const row = { origin, state, why, lastSeen, open, oldestOpenAt, lastError, isPaused }
  return contact
    ? { ...row, contact: { failures: contact.failures, nextContactAt: contact.nextContactAt } }
    : { ...row }
}

const rank = ({ state, open }: PeerRow): number => (state === 'healthy' ? 0 : 1) + (open > 0 ? 2 : 0)
const worstFirst = (a: PeerRow, b: PeerRow): number => rank(b) - rank(a) || (a.origin < b.origin ? -1 : 1)
