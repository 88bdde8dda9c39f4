// A process of the sender that delivers until it is stopped or reaches its kill point. First argument: SenderConfig; second: a kill
// point, or nothing.

import { flushCompileCache } from 'node:module'
import { Failpoint } from './failpoints.ts'
import { parsePoint } from './points.ts'
import { openSender, type SenderConfig } from './sender.ts'

const config = JSON.parse(process.argv[2]!) as SenderConfig
const point = process.argv[3] ? parsePoint(process.argv[3]) : undefined
const failpoint = new Failpoint(point, () => process.send!({ crashing: true }))
const { federation } = await openSender(config, failpoint, {
  acks: {
    'deliver-post': async ({ open }) => {
      await open()
      failpoint.pass('ack')
    },
  },
})
federation.startWorkers()
// Flushed now for later processes, since a killed process flushes nothing.
flushCompileCache()

process.once('message', async () => {
  await federation.stop({ graceMs: 5_000 })
  process.exit(0)
})
process.on('disconnect', () => process.exit(1))
