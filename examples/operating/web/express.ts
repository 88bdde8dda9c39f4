// Express 5: adds jobs, answers health checks, and shuts down without losing a job.

import { once } from 'node:events'
import express from 'express'
import { healthHandler } from 'holdfast'
import { newMailQueue } from './mail-queue.ts'

const queue = newMailQueue()
const health = healthHandler(queue)
await queue.start()

const app = express()
app.post('/mails/:id', async (request, response) => {
  response.status(202).json(await queue.enqueue(request.params.id, { to: 'ada@example.com' }))
})
app.get(['/live', '/ready'], async (request, response) => {
  const answer = await health(new Request(`http://localhost${request.path}`))
  response
    .status(answer.status)
    .type('json')
    .send(await answer.text())
})
const server = app.listen(Number(process.env.PORT ?? 8080), '127.0.0.1')
await once(server, 'listening')
console.log('listening', server.address())

process.once('SIGTERM', async () => {
  server.close() // takes no new request, and lets those under way end
  await once(server, 'close')
  await queue.stop({ graceMs: 20_000 })
})
