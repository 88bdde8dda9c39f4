// Measures the event loop while many peers come back at once: a delivery waits for each of them, and all are resumed together.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { type ManyPeersOptions, percentile, startPeers } from './many-peers.ts'

export interface Herd {
  /** From the return of the peers to the last acknowledgement. */
  readonly seconds: number
  /** 99th percentile of the delay of the event loop, in ms. On a busy machine most of it is the wait for a CPU. */
  readonly delayP99: number
  /** 99th percentile and maximum of the CPU time between two passes of the event loop, in ms. Passes without work do not count. */
  readonly passP99: number
  readonly longestPass: number
  /** CPU of the sender per delivery, in µs. */
  readonly cpuUs: number
}

export async function measureHerd(options: ManyPeersOptions): Promise<Herd> {
  await using many = await startPeers(options)
  const { federation } = many
  const origins = many.peers.map(({ origin }) => origin)
  let left = 0
  let onDone: (() => void) | undefined
  federation.on('delivered', () => {
    left--
    if (left === 0) onDone?.()
  })
  const send = (id: string): Promise<unknown> => {
    left = origins.length
    const payload = { method: 'INSERT', id, createdAt: new Date().toISOString(), data: 'x'.repeat(1_000) }
    return federation.send({ id, payload }, origins)
  }
  const allDelivered = (): Promise<void> => new Promise((resolve) => (onDone = resolve))
  await federation.start()
  // The peers are healthy before they go away.
  const first = allDelivered()
  await send('first')
  await first
  for (const origin of origins) await federation.peers.pause(origin, { by: 'benchmark' })
  await send('second')

  const second = allDelivered()
  const passes = watchPasses()
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  const [startedAt, cpu] = [performance.now(), process.cpuUsage()]
  await Promise.all(origins.map((origin) => federation.peers.resume(origin, { by: 'benchmark' })))
  await second
  const { user, system } = process.cpuUsage(cpu)
  const times = passes.stop()
  return {
    seconds: (performance.now() - startedAt) / 1_000,
    delayP99: delay.percentile(99) / 1e6,
    passP99: percentile(times, 0.99),
    longestPass: percentile(times, 1),
    cpuUs: (user + system) / origins.length,
  }
}

/** Records the CPU time of each pass of the event loop, in ms. */
function watchPasses(): { stop(): readonly number[] } {
  const times: number[] = []
  let before = cpuMs()
  let isStopped = false
  const pass = (): void => {
    const now = cpuMs()
    if (now - before > 0.1) times.push(now - before)
    before = now
    if (!isStopped) setImmediate(pass)
  }
  setImmediate(pass)
  return {
    stop: () => {
      isStopped = true
      return times
    },
  }
}

/** CPU time of this thread. The types of Node 22 do not know the call. */
function cpuMs(): number {
  const { user, system } = (process as unknown as { threadCpuUsage(): NodeJS.CpuUsage }).threadCpuUsage()
  return (user + system) / 1_000
}
