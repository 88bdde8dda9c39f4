// The emergency sweep: checks unhealthy peers, all at once, when no healthy peer is left as a relay. It runs at most once per
// `sweepEveryMs`.

import type { Clock } from 'holdfast'
import type { SendingContext } from '../context.ts'
import { markServerHealthy } from './health.ts'
import { answersAsPinned } from './probe.ts'
import { checkableReasons } from './threat-policy.ts'

/** Instant of the last sweep. By clock, so that all federations of a process share it. */
const sweptAt = new WeakMap<Clock, number>()

/** Returns true if at least one peer answered and is healthy again. */
export async function emergencySweep(context: SendingContext): Promise<boolean> {
  const { clock, store, policies } = context
  const { sweepEveryMs, sweepMax, sweepTimeoutMs } = policies.relay
  const now = clock.monotonic()
  const last = sweptAt.get(clock)
  if (last !== undefined && now < last + sweepEveryMs) return false
  sweptAt.set(clock, now)
  const peers = await store.peers.listUnhealthy({ reasons: checkableReasons(policies), limit: sweepMax })
  const answers = await Promise.all(
    peers.map(async (peer) => {
      const isHealthy = await answersAsPinned(context, peer, { timeoutMs: sweepTimeoutMs })
      if (isHealthy) await markServerHealthy(context, peer.url)
      return isHealthy
    }),
  )
  return answers.includes(true)
}
