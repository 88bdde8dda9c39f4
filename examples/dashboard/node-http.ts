// The dashboard on node:http, beside other paths of a server:
//
//   DASHBOARD_PASSWORD=secret node examples/dashboard/node-http.ts

import { once } from 'node:events'
import { createServer } from 'node:http'
import { createDashboard, nodeListener } from '@holdfast/dashboard'
import { authorize } from './authorize.ts'
import { queue, storage } from './mail-queue.ts'

const dashboard = createDashboard({ storage, authorize, basePath: '/jobs', logger: console })
const showJobs = nodeListener(dashboard)
const server = createServer((request, response) => {
  if (request.url?.startsWith('/jobs')) void showJobs(request, response)
  else response.end('The dashboard is at /jobs')
})
server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1')
await once(server, 'listening')
console.log('listening', server.address())

process.once('SIGTERM', async () => {
  await dashboard.close()
  server.close()
  server.closeAllConnections()
  await queue.stop({ graceMs: 20_000 })
})
