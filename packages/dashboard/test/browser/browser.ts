// A dashboard on a free port of this machine, and a browser to look at it.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Browser, chromium } from 'playwright-core'
import type { Storage } from 'holdfast'
import { type Authorize, createDashboard, type DashboardOptions, nodeListener, permissions } from '@holdfast/dashboard'

export interface Served {
  readonly url: string
  close(): Promise<void>
}

const everything: Authorize = () => ({ actor: 'ada@example.com', can: permissions })

export async function serve(
  storage: Storage,
  { authorize = everything, logger, peers }: Pick<DashboardOptions, 'authorize' | 'logger' | 'peers'> = {},
): Promise<Served> {
  const dashboard = createDashboard({ storage, authorize, logger, peers, basePath: '/admin/jobs' })
  const server = createServer(nodeListener(dashboard))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/admin/jobs`,
    async close() {
      await dashboard.close()
      server.closeAllConnections()
      server.close()
    },
  }
}

/** @param executablePath of chromium */
export function openBrowser(executablePath: string): Promise<Browser> {
  // Chromium refuses its sandbox to root; the pages are ours, on loopback.
  return chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] })
}
