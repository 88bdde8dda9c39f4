// Fastify 5: adds jobs, answers health checks, and shuts down without losing a job.

import Fastify from 'fastify'
import { healthHandler } from 'holdfast'
import { newMailQueue } from './mail-queue.ts'

const queue = newMailQueue()
const health = healthHandler(queue)
await queue.start()

const app = Fastify()
app.post<{ Params: { id: string } }>('/mails/:id', async (request, reply) => {
  reply.code(202)
  return queue.enqueue(request.params.id, { to: 'ada@example.com' })
})
for (const path of ['/live', '/ready']) {
  app.get(path, async (_request, reply) => {
    const answer = await health(new Request(`http://localhost${path}`))
    return reply
      .code(answer.status)
      .type('application/json')
      .send(await answer.text())
  })
}
// Runs when the server has closed, and its requests have ended.
app.addHook('onClose', () => queue.stop({ graceMs: 20_000 }))
await app.listen({ port: Number(process.env.PORT ?? 8080), host: '127.0.0.1' })
console.log('listening', app.server.address())

process.once('SIGTERM', () => void app.close())
