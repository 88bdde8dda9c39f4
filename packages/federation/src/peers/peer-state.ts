// The state of a peer in the profile `hardened`, as a pure function of what happened. The back-off belongs to the peer, not to a delivery.

export interface PeerState {
  /** `unproven`: never reached. `suspect`, `down` and `dead`: the last contact failed, for ever longer. */
  readonly state: 'unproven' | 'healthy' | 'suspect' | 'down' | 'dead'
  /** Failed contacts in a row. */
  readonly failures: number
  /** First failed contact of the row, epoch ms. */
  readonly firstFailedAt: number | undefined
  readonly lastSuccessAt: number | undefined
  /** No contact before this instant, epoch ms. */
  readonly nextContactAt: number
}

export const newPeer: PeerState = {
  state: 'unproven',
  failures: 0,
  firstFailedAt: undefined,
  lastSuccessAt: undefined,
  nextContactAt: 0,
}

const firstDelayMs = 10_000
const longestDelayMs = 3_600_000
const longestDelayOfDeadMs = 24 * 3_600_000
const downAfter = 5
const downAfterMs = 10 * 60_000
const deadAfterMs = 7 * 24 * 3_600_000

/** @param random from 0 to 1 */
export function afterFailure(before: PeerState, now: number, random: number): PeerState {
  const failures = before.failures + 1
  const firstFailedAt = before.firstFailedAt ?? now
  const state = stateAfter(before, failures, firstFailedAt, now)
  const cap = state === 'dead' ? longestDelayOfDeadMs : longestDelayMs
  const delay = Math.min(cap, firstDelayMs * 2 ** Math.min(failures - 1, 30))
  // Half of the delay is fixed: with full jitter about one peer in six would be contacted too often.
  const nextContactAt = Math.round(now + delay / 2 + (random * delay) / 2)
  return { ...before, state, failures, firstFailedAt, nextContactAt }
}

function stateAfter(before: PeerState, failures: number, firstFailedAt: number, now: number): PeerState['state'] {
  if (now - (before.lastSuccessAt ?? firstFailedAt) >= deadAfterMs) return 'dead'
  return failures >= downAfter || now - firstFailedAt >= downAfterMs ? 'down' : 'suspect'
}

export const afterSuccess = (now: number): PeerState => ({
  state: 'healthy',
  failures: 0,
  firstFailedAt: undefined,
  lastSuccessAt: now,
  nextContactAt: 0,
})
