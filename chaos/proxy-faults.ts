// What may happen to the connections of one process, and how long it lasts. Bytes that were lost never leave a gap in a
// connection that goes on, as they never do in TCP: where some were, it is cut in the end.

import type { Proxy } from '../servers/proxy.ts'
import { sleep } from './child.ts'

interface FaultShape {
  /** How long it lasts, in ms. */
  readonly ms: readonly [number, number]
  begin(proxy: Proxy, delayMs: number): Promise<void> | void
  end(proxy: Proxy): Promise<void> | void
  /** The connections are gone by it. */
  readonly disconnects: boolean
}

export const proxyFaults = {
  /** Requests arrive, their replies do not. */
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
  /** The server's side ends, what it still had to say is lost, and requests may arrive all the same. */
  halfClose: { ms: [0, 0], disconnects: true, begin: (proxy) => proxy.halfClose(), end: () => {} },
  /** Silence in both directions, and no end is told: longer, at times, than the storage waits for an answer. */
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

/** Resolves when it is over. */
export async function inflict(proxy: Proxy, fault: ProxyFault, forMs: number, delayMs: number): Promise<void> {
  const { begin, end }: FaultShape = proxyFaults[fault]
  await begin(proxy, delayMs)
  await sleep(forMs)
  await end(proxy)
}
