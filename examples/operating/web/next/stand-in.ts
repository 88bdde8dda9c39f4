// Stands in for Next.js, so that the files beside it run without it: calls register() as Next does when its server starts, hands
// requests to the route, and leaves SIGTERM to the app, as with NEXT_MANUAL_SIG_HANDLE=true.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { GET } from './health-route.ts'
import { register } from './instrumentation.ts'
import { queue } from './queue.ts'

process.env.NEXT_RUNTIME = 'nodejs'
await register()
const server = createServer(async ({ method, url = '/' }, response) => {
  const answer =
    method === 'POST'
      ? Response.json(await queue.enqueue(url.slice('/mails/'.length), { to: 'ada@example.com' }), { status: 202 })
      : await GET(new Request(`http://localhost/health${url}`))
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
})
server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1')
await once(server, 'listening')
console.log('listening', server.address())
