// The peers by name.

import { bullmq } from './bullmq.ts'
import type { Peer } from './peer.ts'
import { pgBoss } from './pg-boss.ts'

export const peers: Readonly<Record<string, Peer>> = { bullmq, 'pg-boss': pgBoss }

/** @throws Error for a name that is none of them */
export function peerNamed(name: string): Peer {
  const peer = peers[name]
  if (!peer) throw new Error(`--peer: expected one of ${Object.keys(peers).join(', ')}, got "${name}"`)
  return peer
}
