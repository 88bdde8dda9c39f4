// Measures one run: an activity to all peers, every so often. The latency of a delivery runs from the call of send() to its acknowledgement.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ManyPeersOptions, percentile, startPeers } from './many-peers.ts'

export interface IsolationLoad extends ManyPeersOptions {
  readonly rounds: number
  readonly everyMs: number
}

export interface Isolation {
  /** 99th percentile of the healthy peers, in ms: of the first activity, and of all others. */
  readonly coldP99: number
  readonly warmP99: number
  readonly warmP50: number
  /** Deliveries to healthy peers that did not arrive while the run lasted. */
  readonly missing: number
  /** 99th percentile of the delay of the sender's event loop, in ms. */
  readonly loopP99: number
  /** CPU of the sender per delivery to a healthy peer, in µs. */
  readonly cpuUs: number
}

export async function measureIsolation({ rounds, everyMs, ...load }: IsolationLoad): Promise<Isolation> {
  await using many = await startPeers(load)
  const { federation, peers } = many
  const healthy = new Set(peers.filter(({ way }) => way === undefined).map(({ origin }) => origin))
  const sentAt = new Map<string, number>()
  const latencies = new Map<string, number[]>()
  const left = { open: 0 }
  federation.on('delivered', ({ id, origin }) => {
    if (!healthy.has(origin)) return
    const [activity = ''] = id.split(' ')
    latencies.get(activity)!.push(performance.now() - sentAt.get(activity)!)
    left.open--
  })
  await federation.start()
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  const cpu = process.cpuUsage()
  for (let round = 0; round < rounds; round++) {
    const id = `a${round}`
    const payload = { method: 'INSERT', id, createdAt: new Date().toISOString(), data: 'x'.repeat(1_000) }
    const nextAt = performance.now() + everyMs
    sentAt.set(id, performance.now())
    latencies.set(id, [])
    left.open += healthy.size
    await federation.send(
      { id, payload },
      peers.map(({ origin }) => origin),
    )
    await sleep(Math.max(0, nextAt - performance.now()))
  }
  // A busy machine may need longer than a round takes. What has not arrived by then counts as missing.
  for (let waits = 0; left.open > 0 && waits < 600; waits++) await sleep(100)
  const { user, system } = process.cpuUsage(cpu)
  const [cold = [], ...warm] = [...latencies.values()]
  return {
    coldP99: percentile(cold, 0.99),
    warmP99: percentile(warm.flat(), 0.99),
    warmP50: percentile(warm.flat(), 0.5),
    missing: left.open,
    loopP99: delay.percentile(99) / 1e6,
    cpuUs: (user + system) / (rounds * healthy.size),
  }
}
