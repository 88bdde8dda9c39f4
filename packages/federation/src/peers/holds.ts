// Holds: while a peer is not contacted, its group in the queue of deliveries is paused, so what waits for it costs nothing. A pause of an
// operator is left alone.
//
// Not a slow-down of the group (rateLimited): the engine cannot end one early, and a peer that sends a message is to be contacted at once.

import type { Queue } from 'holdfast'

export interface PeerHolds {
  hold(origin: string): Promise<void>
  /** Takes back hold(). */
  release(origin: string): Promise<void>
  /** Pauses for an operator, also while the peer is held: that pause would keep its name, and end with the hold. */
  pauseFor(operator: string | undefined, origin: string): Promise<void>
  /** Returns the peers that are held. */
  held(): Promise<string[]>
}

/** The operator's name in the pauses of this package. */
const by = '@holdfast/federation'

export function peerHolds(queue: Pick<Queue<unknown>, 'counts' | 'pause' | 'resume'>): PeerHolds {
  const pausedBy = async (group: string): Promise<{ readonly by?: string | undefined } | undefined> =>
    (await queue.counts()).pausedGroups.find((paused) => paused.group === group)
  const release = async (group: string): Promise<void> => {
    if ((await pausedBy(group))?.by === by) await queue.resume({ group, by })
  }
  return {
    hold: async (group) => {
      // A pause that exists keeps its name.
      await queue.pause({ group, by })
    },
    release,
    pauseFor: async (operator, group) => {
      // A delivery that starts between the two calls may hold the peer again.
      do {
        await release(group)
        await queue.pause({ group, by: operator })
      } while ((await pausedBy(group))?.by === by)
    },
    held: async () =>
      (await queue.counts()).pausedGroups.filter((paused) => paused.by === by).map(({ group }) => group),
  }
}
