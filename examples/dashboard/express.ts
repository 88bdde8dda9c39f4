// The dashboard in Express 5. Before body parsers, or after them: both work.

import { once } from 'node:events'
import express from 'express'
import { createDashboard, nodeListener } from '@holdfast/dashboard'
import { authorize } from './authorize.ts'
import { queue, storage } from './mail-queue.ts'

const dashboard = createDashboard({ storage, authorize, basePath: '/jobs', logger: console })
const app = express()
app.use(express.json())
app.use('/jobs', nodeListener(dashboard))
app.get('/', (_request, response) => void response.send('The dashboard is at /jobs'))
const server = app.listen(Number(process.env.PORT ?? 8080), '127.0.0.1')
await once(server, 'listening')
console.log('listening', server.address())

process.once('SIGTERM', async () => {
  await dashboard.close()
  server.close()
  server.closeAllConnections()
  await queue.stop({ graceMs: 20_000 })
})
