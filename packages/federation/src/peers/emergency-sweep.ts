// When no healthy peer is left to relay, the unhealthy ones are asked, all at once and rarely.

import type { Clock } from 'holdfast'
import type { SendingContext } from '../context.ts'
import { markServerHealthy } from './health.ts'
import { answersAsPinned } from './probe.ts'
import { checkableReasons } from './threat-policy.ts'

/** By clock, so that all federations of a process share it. */
const sweptAt = new WeakMap<Clock, number>()

/** True: some came back. */
export async function emergencySweep(context: SendingContext): Promise<boolean> {
  const { clock, store, policies } = context
  const { sweepEveryMs, sweepMax, sweepTimeoutMs } = policies.relay
  const now = clock.monotonic()
  const last = sweptAt.get(clock)
  if (last !== undefined && now < last + sweepEveryMs) return false
  sweptAt.set(clock, now)
  const peers = await store.peers.listUnhealthy({ reasons: checkableReasons(policies), limit: sweepMax })
  const back = await Promise.all(
    peers.map(async (peer) => {
      const isBack = await answersAsPinned(context, peer, { timeoutMs: sweepTimeoutMs })
      if (isBack) await markServerHealthy(context, peer.url)
      return isBack
    }),
  )
  return back.includes(true)
}
