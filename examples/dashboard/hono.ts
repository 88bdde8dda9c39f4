// The dashboard in Hono, here on Node.js. Hono speaks Request and Response, so nothing is adapted.

import { once } from 'node:events'
import { createAdaptorServer } from '@hono/node-server'
import { createDashboard } from '@holdfast/dashboard'
import { Hono } from 'hono'
import { authorize } from './authorize.ts'
import { queue, storage } from './mail-queue.ts'

const dashboard = createDashboard({ storage, authorize, basePath: '/jobs', logger: console })
const app = new Hono()
app.get('/', (context) => context.text('The dashboard is at /jobs'))
for (const path of ['/jobs', '/jobs/*']) app.all(path, (context) => dashboard(context.req.raw))
const server = createAdaptorServer({ fetch: app.fetch })
server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1')
await once(server, 'listening')
console.log('listening', server.address())

process.once('SIGTERM', async () => {
  await dashboard.close()
  server.close()
  if ('closeAllConnections' in server) server.closeAllConnections()
  await queue.stop({ graceMs: 20_000 })
})
