// The dashboard in Fastify 5. Its body parsers are left out below /jobs: the dashboard reads bodies itself.

import { createDashboard, nodeListener } from '@holdfast/dashboard'
import fastify from 'fastify'
import { authorize } from './authorize.ts'
import { queue, storage } from './mail-queue.ts'

const dashboard = createDashboard({ storage, authorize, basePath: '/jobs', logger: console })
const showJobs = nodeListener(dashboard)
const app = fastify({ forceCloseConnections: true })
await app.register(async (jobs) => {
  jobs.removeAllContentTypeParsers()
  jobs.addContentTypeParser('*', (_request, _payload, done) => done(null))
  for (const url of ['/jobs', '/jobs/*']) {
    jobs.all(url, async (request, reply) => {
      reply.hijack()
      await showJobs(request.raw, reply.raw)
    })
  }
})
app.get('/', () => 'The dashboard is at /jobs')
await app.listen({ port: Number(process.env.PORT ?? 8080), host: '127.0.0.1' })
console.log('listening', app.server.address())

process.once('SIGTERM', async () => {
  await dashboard.close()
  await app.close()
  await queue.stop({ graceMs: 20_000 })
})
