// The dashboard on Bun:   DASHBOARD_PASSWORD=secret bun examples/dashboard/bun.ts

import { createDashboard } from '@holdfast/dashboard'
import { authorize } from './authorize.ts'
import { queue, storage } from './mail-queue.ts'

/** What is used of Bun's own types, which are a package of their own. */
declare const Bun: {
  serve(options: {
    readonly port: number
    readonly hostname: string
    readonly idleTimeout: number
    fetch(request: Request): Promise<Response>
  }): { readonly port: number; stop(closesConnections: boolean): void }
}

const dashboard = createDashboard({ storage, authorize, basePath: '/jobs', logger: console })
const server = Bun.serve({
  port: Number(process.env.PORT ?? 8080),
  hostname: '127.0.0.1',
  // Streams of pages are open for long.
  idleTimeout: 0,
  async fetch(request) {
    const { pathname } = new URL(request.url)
    return pathname.startsWith('/jobs') ? dashboard(request) : new Response('The dashboard is at /jobs')
  },
})
console.log('listening', { port: server.port })

process.once('SIGTERM', async () => {
  await dashboard.close()
  server.stop(true)
  await queue.stop({ graceMs: 20_000 })
})
