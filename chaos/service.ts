// A private Redis for a run, which syncs every write, with a proxy before it for each slot: so one process can be cut off
// while the others go on, and all of them when the server is killed.

import { cpSync } from 'node:fs'
import { type Proxy, startProxy } from '../servers/proxy.ts'
import { startRedis } from '../servers/redis.ts'

export interface Service {
  /** Past the proxies: for whoever judges. */
  readonly url: string
  urlOf(slot: string): string
  proxyOf(slot: string): Proxy
  readonly running: boolean
  /** By SIGKILL. */
  kill(): void
  /** With the same port and data. Resolves when it answers. */
  restart(): Promise<void>
  /** @param directory a copy of what it kept goes there */
  stop(directory: string): Promise<void>
}

/** @param slots as in `worker-0` */
export async function startService(slots: readonly string[]): Promise<Service> {
  const server = await startRedis({ appendonly: 'always' })
  const proxies = new Map<string, Proxy>()
  for (const slot of slots) proxies.set(slot, await startProxy(server.port))
  return {
    url: server.url,
    urlOf: (slot) => `redis://127.0.0.1:${proxies.get(slot)!.port}`,
    proxyOf: (slot) => proxies.get(slot)!,
    get running() {
      return server.running
    },
    kill: () => server.kill('SIGKILL'),
    restart: () => server.restart(),
    async stop(directory) {
      for (const proxy of proxies.values()) await proxy.stop()
      cpSync(server.directory, directory, { recursive: true })
      await server.stop()
    },
  }
}
