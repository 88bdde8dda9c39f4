// A private server for a run, with a proxy per slot: one process can be disconnected while the others continue, and
// all of them when the server is killed.

import { cpSync } from 'node:fs'
import { type Proxy, startProxy } from '../servers/proxy.ts'

/** The part of a proxy that makes faults. */
export type FaultyConnection = Pick<Proxy, 'cut' | 'halfClose' | 'refuse' | 'swallowReplies' | 'delay' | 'halfOpen'>

export interface Service {
  /** Url without a proxy: for the checks. */
  readonly url: string
  urlOf(slot: string): string
  proxyOf(slot: string): FaultyConnection
  readonly running: boolean
  /** Ends the server at once, without a checkpoint. */
  kill(): Promise<void> | void
  /** Restarts with the same port and data. Resolves when it answers. */
  restart(): Promise<void>
  /** Stops the server by SIGSTOP, and continues it. */
  freeze(): Promise<void> | void
  thaw(): Promise<void> | void
  /** Ends sessions of the server, or disturbs all of them. Returns false if there was none. @param drawn 0 … 1 */
  disturb?(drawn: number): Promise<boolean>
  /** @param directory where a copy of its files is put */
  stop(directory: string): Promise<void>
}

interface PrivateServer {
  readonly url: string
  readonly port: number
  readonly running: boolean
  kill(signal: NodeJS.Signals): void
  restart(): Promise<void>
  stop(): Promise<void>
}

interface ServerOptions {
  /** Signal that ends the server at once. */
  readonly killSignal: NodeJS.Signals
  /** Path that is copied at the end. */
  readonly kept: string
  /** The processes of the server. */
  pids(): readonly number[]
  readonly disturb?: Service['disturb']
}

/** @param slots names such as `worker-0` */
export async function serviceOn(
  server: PrivateServer,
  { killSignal, kept, pids, disturb }: ServerOptions,
  slots: readonly string[],
): Promise<Service> {
  const proxies = new Map<string, Proxy>()
  let frozen: readonly number[] = []
  for (const slot of slots) proxies.set(slot, await startProxy(server.port))
  return {
    url: server.url,
    urlOf: (slot) => server.url.replace(`:${server.port}`, `:${proxies.get(slot)!.port}`),
    proxyOf: (slot) => proxies.get(slot)!,
    get running() {
      return server.running
    },
    kill: () => server.kill(killSignal),
    restart: () => server.restart(),
    freeze() {
      frozen = pids()
      signalAll(frozen, 'SIGSTOP')
    },
    thaw: () => signalAll(frozen, 'SIGCONT'),
    ...(disturb && { disturb }),
    async stop(directory) {
      for (const proxy of proxies.values()) await proxy.stop()
      cpSync(kept, directory, { recursive: true })
      await server.stop()
    },
  }
}

/** A session may have ended meanwhile. */
function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}
