// Holds: while a peer is not contacted, its group in the queue of deliveries is paused, so what waits for it costs nothing. The pause has the
// name of this package, so a pause of an operator replaces it, and release() leaves that one alone.
//
// Not a slow-down of the group (rateLimited): the engine cannot end one early, and a peer that sends a message is to be contacted at once.

import type { Queue } from 'holdfast'

export interface PeerHolds {
  hold(origin: string): Promise<void>
  /** Takes back hold(). */
  release(origin: string): Promise<void>
  /** Returns the peers that are held. */
  held(): Promise<string[]>
}

/** The operator's name in the pauses of this package. */
const by = '@holdfast/federation'

export function peerHolds(queue: Pick<Queue<unknown>, 'counts' | 'pause' | 'resume'>): PeerHolds {
  return {
    hold: (group) => queue.pause({ group, by }),
    release: (group) => queue.resume({ group, by }),
    held: async () =>
      (await queue.counts()).pausedGroups.filter((paused) => paused.by === by).map(({ group }) => group),
  }
}
