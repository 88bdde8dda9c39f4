// A private server for a run, with a proxy before it for each slot: so one process can be cut off while the others go on, and
// all of them when the server is killed.

import { cpSync } from 'node:fs'
import { type Proxy, startProxy } from '../servers/proxy.ts'

export interface Service {
  /** Past the proxies: for whoever judges. */
  readonly url: string
  urlOf(slot: string): string
  proxyOf(slot: string): Proxy
  readonly running: boolean
  /** At once, without writing down anything. */
  kill(): void
  /** With the same port and data. Resolves when it answers. */
  restart(): Promise<void>
  /** @param directory a copy of what it kept goes there */
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

interface Manner {
  /** By which it ends at once. */
  readonly killSignal: NodeJS.Signals
  /** What is copied when all is over. */
  readonly kept: string
}

/** @param slots as in `worker-0` */
export async function serviceOn(
  server: PrivateServer,
  { killSignal, kept }: Manner,
  slots: readonly string[],
): Promise<Service> {
  const proxies = new Map<string, Proxy>()
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
    async stop(directory) {
      for (const proxy of proxies.values()) await proxy.stop()
      cpSync(kept, directory, { recursive: true })
      await server.stop()
    },
  }
}
