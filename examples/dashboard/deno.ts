// The dashboard on Deno:   DASHBOARD_PASSWORD=secret deno run -A examples/dashboard/deno.ts

import { createDashboard } from '@holdfast/dashboard'
import { authorize } from './authorize.ts'
import { queue, storage } from './mail-queue.ts'

/** What is used of Deno's own types, which only Deno has. */
declare const Deno: {
  serve(
    options: { readonly port: number; readonly hostname: string; onListen(address: { readonly port: number }): void },
    answer: (request: Request) => Promise<Response>,
  ): { shutdown(): Promise<void> }
}

const dashboard = createDashboard({ storage, authorize, basePath: '/jobs', logger: console })
const server = Deno.serve(
  {
    port: Number(process.env.PORT ?? 8080),
    hostname: '127.0.0.1',
    onListen: ({ port }) => console.log('listening', { port }),
  },
  async (request) => {
    const { pathname } = new URL(request.url)
    return pathname.startsWith('/jobs') ? dashboard(request) : new Response('The dashboard is at /jobs')
  },
)

process.once('SIGTERM', async () => {
  await dashboard.close()
  await queue.stop({ graceMs: 20_000 })
  await server.shutdown()
})
