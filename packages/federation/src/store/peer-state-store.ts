// The table of peer states as methods, in the profile `hardened`.

import type { PeerState } from '../peers/peer-state.ts'

/** The states of peers. */
export interface PeerStateStore {
  get(origin: string): Promise<PeerState | undefined>
  /**
   * Changes the state of a peer, unless `next` returns undefined. It may be called again: another process may change the row meanwhile.
   * Returns the state that stands.
   */
  change(
    origin: string,
    now: number,
    next: (before: PeerState | undefined, changedAt: number | undefined) => PeerState | undefined,
  ): Promise<PeerState>
  /** Removes states that did not change since this instant, of peers that nothing waits for. Returns their number. */
  expire(before: number, limit: number): Promise<number>
  /** Removes states of peers that were never reached, except those that changed last. Returns their number. @param keep states that stay */
  evict(keep: number, limit: number): Promise<number>
  /** Returns the number of peers by state. */
  counts(): Promise<Readonly<Partial<Record<PeerState['state'], number>>>>
}
