// The state of a peer in the profile `hardened`, as a pure function of what happened. The back-off belongs to the peer, not to a delivery.

export interface PeerState {
  /**
   * `unproven`: never reached. `suspect`, `down` and `dead`: the last contact failed, for ever longer. `gone`: the server says for a day that
   * it has ended, and nothing is sent to it.
   */
  readonly state: 'unproven' | 'healthy' | 'suspect' | 'down' | 'dead' | 'gone'
  /** Failed contacts in a row. */
  readonly failures: number
  /** First failed contact of the row, epoch ms. */
  readonly firstFailedAt: number | undefined
  readonly lastSuccessAt: number | undefined
  /** No contact before this instant, epoch ms. */
  readonly nextContactAt: number
  /** Probes in a row that were answered with 410. */
  readonly goneProbes: number
  /** The first of them, epoch ms. */
  readonly goneSince: number | undefined
}

export const newPeer: PeerState = {
  state: 'unproven',
  failures: 0,
  firstFailedAt: undefined,
  lastSuccessAt: undefined,
  nextContactAt: 0,
  goneProbes: 0,
  goneSince: undefined,
}

/** Delays between contacts with a peer that does not answer, in ms. */
export interface ContactDelays {
  readonly firstDelayMs: number
  readonly maxDelayMs: number
}

export interface Failure {
  /** Epoch ms. */
  readonly now: number
  /** From 0 to 1. */
  readonly random: number
  /** Most peers fail now, so this server's own network is down: no peer sinks below `suspect` for it. @default false */
  readonly isOwnOutage?: boolean
  /** The server answered a probe with 410. @default false */
  readonly saysGone?: boolean
}

const longestDelayOfDeadMs = 24 * 3_600_000
const downAfter = 5
const downAfterMs = 10 * 60_000
const deadAfterMs = 7 * 24 * 3_600_000
const goneAfter = 3
const goneAfterMs = 24 * 3_600_000

export function afterFailure(before: PeerState, failure: Failure, delays: ContactDelays): PeerState {
  const { now, random, isOwnOutage = false, saysGone = false } = failure
  const failures = before.failures + 1
  const firstFailedAt = before.firstFailedAt ?? now
  const goneProbes = saysGone ? before.goneProbes + 1 : 0
  const goneSince = saysGone ? (before.goneSince ?? now) : undefined
  const isGone = goneProbes >= goneAfter && now - goneSince! >= goneAfterMs
  const state = isGone ? 'gone' : isOwnOutage ? 'suspect' : stateAfter(before, failures, firstFailedAt, now)
  const cap = state === 'dead' ? Math.max(longestDelayOfDeadMs, delays.maxDelayMs) : delays.maxDelayMs
  const delay = Math.min(cap, delays.firstDelayMs * 2 ** Math.min(failures - 1, 30))
  // Half of the delay is fixed: with full jitter about one peer in six would be contacted too often.
  const nextContactAt = Math.round(now + delay / 2 + (random * delay) / 2)
  return { ...before, state, failures, firstFailedAt, nextContactAt, goneProbes, goneSince }
}

function stateAfter(before: PeerState, failures: number, firstFailedAt: number, now: number): PeerState['state'] {
  if (now - (before.lastSuccessAt ?? firstFailedAt) >= deadAfterMs) return 'dead'
  return failures >= downAfter || now - firstFailedAt >= downAfterMs ? 'down' : 'suspect'
}

export const afterSuccess = (now: number): PeerState => ({ ...newPeer, state: 'healthy', lastSuccessAt: now })
