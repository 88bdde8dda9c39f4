// Stands in for Next.js, so that the route beside it runs without it: hands requests of /jobs to its GET and POST.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { nodeListener } from '@holdfast/dashboard'
import { queue } from './mail-queue.ts'
import { GET, POST } from './next-route.ts'

const showJobs = nodeListener((request) => (request.method === 'POST' ? POST(request) : GET(request)))
const server = createServer((request, response) => {
  if (request.url?.startsWith('/jobs')) void showJobs(request, response)
  else response.end('The dashboard is at /jobs')
})
server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1')
await once(server, 'listening')
console.log('listening', server.address())

process.once('SIGTERM', async () => {
  server.close()
  server.closeAllConnections()
  await queue.stop({ graceMs: 20_000 })
})
