// Measures what the drain of one peer costs another one. Seconds with the drain and seconds without it alternate in one run: another load of the
// machine, or a slow disk, is in both. The two peers are processes of their own, as servers are.

import { setTimeout as sleep } from 'node:timers/promises'
import { percentile, startPeers } from './many-peers.ts'

export interface DrainLoad {
  /** Folder of the database. */
  readonly folder: string
  /** Deliveries that wait for the peer that returns. */
  readonly parked: number
  readonly windowMs: number
}

export interface Drain {
  /** From the commit of a delivery to the other peer to its acknowledgement, in ms: 50th and 99th percentile, and their number. */
  readonly without: Latency
  readonly during: Latency
  /** Deliveries of the drain per second. */
  readonly perSecond: number
  /** CPU of the sender per delivery, both peers, while one drains, in µs. */
  readonly cpuUs: number
}

export interface Latency {
  readonly p50: number
  readonly p99: number
  readonly count: number
}

/** Pause between two deliveries to the other peer. */
const pauseMs = 5
/** After a pause of the peer: what is under way ends. */
const settleMs = 100
const by = { by: 'benchmark' }

export async function measureDrain({ folder, parked, windowMs }: DrainLoad): Promise<Drain> {
  await using many = await startPeers({ peers: 2, processes: 2, folder })
  const { federation } = many
  const [back, other] = many.peers.map(({ origin }) => origin) as [string, string]
  const waiting = new Map<string, () => void>()
  const drained = { count: 0 }
  federation.on('delivered', ({ id, origin }) => {
    if (origin === back) drained.count++
    waiting.get(id)?.()
  })
  const latencyOf = async (to: string): Promise<number> => {
    const activity = newActivity()
    const id = `${activity.id} ${to}`
    const delivered = new Promise<void>((resolve) => waiting.set(id, resolve))
    await federation.send(activity, [to])
    const committedAt = performance.now()
    await delivered
    waiting.delete(id)
    return performance.now() - committedAt
  }
  await federation.start()
  for (let n = 0; n < 50; n++) for (const to of [back, other]) await latencyOf(to)
  await federation.peers.pause(back, by)
  for (let n = 0; n < parked; n++) await federation.send(newActivity(), [back])
  drained.count = 0

  const times: Readonly<Record<'without' | 'during', number[]>> = { without: [], during: [] }
  const isUnderWay = (): boolean => drained.count < parked
  const spent = { ms: 0, cpuUs: 0, drained: 0 }
  const measure = async (kind: 'without' | 'during'): Promise<void> => {
    for (const end = performance.now() + windowMs; performance.now() < end && isUnderWay(); await sleep(pauseMs)) {
      times[kind].push(await latencyOf(other))
    }
  }
  while (isUnderWay()) {
    await measure('without')
    await federation.peers.resume(back, by)
    const [startedAt, cpu, before] = [performance.now(), process.cpuUsage(), drained.count]
    await measure('during')
    const { user, system } = process.cpuUsage(cpu)
    spent.ms += performance.now() - startedAt
    spent.cpuUs += user + system
    spent.drained += drained.count - before
    await federation.peers.pause(back, by)
    await sleep(settleMs)
  }
  return {
    without: latency(times.without),
    during: latency(times.during),
    perSecond: (1_000 * spent.drained) / spent.ms,
    cpuUs: spent.cpuUs / (spent.drained + times.during.length),
  }
}

function newActivity() {
  const id = crypto.randomUUID()
  return { id, payload: { method: 'INSERT', id, createdAt: new Date().toISOString(), data: 'x'.repeat(1_000) } }
}

const latency = (times: readonly number[]): Latency => ({
  p50: percentile(times, 0.5),
  p99: percentile(times, 0.99),
  count: times.length,
})
