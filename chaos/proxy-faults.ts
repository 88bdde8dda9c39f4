// The faults of one process's connections, with their durations. Lost bytes never leave a gap in a
// connection that continues, as in TCP: a connection that lost bytes is cut at the end of the fault.

import { sleep } from './child.ts'
import type { FaultyConnection } from './service.ts'

interface FaultShape {
  /** Duration, ms. */
  readonly ms: readonly [number, number]
  begin(proxy: FaultyConnection, delayMs: number): Promise<void> | void
  end(proxy: FaultyConnection): Promise<void> | void
  /** Whether the fault ends the connections. */
  readonly disconnects: boolean
}

export const proxyFaults = {
  /** Requests arrive, their replies are lost. */
  drop: {
    ms: [100, 2_500],
    disconnects: true,
    begin: (proxy) => proxy.swallowReplies(true),
    end(proxy) {
      proxy.cut()
      proxy.swallowReplies(false)
    },
  },
  delay: {
    ms: [500, 2_000],
    disconnects: false,
    begin: (proxy, delayMs) => proxy.delay(delayMs),
    end: (proxy) => proxy.delay(0),
  },
  cut: { ms: [0, 0], disconnects: true, begin: (proxy) => proxy.cut(), end: () => {} },
  /** The server's side ends and its pending replies are lost; requests may still arrive. */
  halfClose: { ms: [0, 0], disconnects: true, begin: (proxy) => proxy.halfClose(), end: () => {} },
  /** Silence in both directions without an end: sometimes longer than the storage's call timeout. */
  halfOpen: {
    ms: [300, 3_500],
    disconnects: true,
    begin: (proxy) => proxy.halfOpen(true),
    end(proxy) {
      proxy.cut()
      proxy.halfOpen(false)
    },
  },
  refuse: {
    ms: [200, 1_500],
    disconnects: true,
    async begin(proxy) {
      await proxy.refuse(true)
      proxy.cut()
    },
    end: (proxy) => proxy.refuse(false),
  },
} as const satisfies Readonly<Record<string, FaultShape>>

export type ProxyFault = keyof typeof proxyFaults

export const proxyFaultNames = Object.keys(proxyFaults) as readonly ProxyFault[]

/** Applies the fault and resolves when it is over. */
export async function applyFault(
  proxy: FaultyConnection,
  fault: ProxyFault,
  forMs: number,
  delayMs: number,
): Promise<void> {
  const { begin, end }: FaultShape = proxyFaults[fault]
  await begin(proxy, delayMs)
  await sleep(forMs)
  await end(proxy)
}
