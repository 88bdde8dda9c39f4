// The receiving server, a process of its own: verifies, opens, writes the follow, and acknowledges. Ends when its parent does.
//
//   receiver.ts <port of the sender> [<folder: on disk, here>]

import { join } from 'node:path'
import { sqliteStore } from '@holdfast/federation'
import { MemoryStorage } from 'holdfast'
import { openPort } from './server.ts'

const [peerPort, folder] = process.argv.slice(2)
let applied = 0
const { origin, mount } = await openPort()
await mount({
  peerPort: Number(peerPort),
  storage: new MemoryStorage(),
  store: sqliteStore({ path: folder === undefined ? ':memory:' : join(folder, 'receiver.db') }),
  handlers: {
    FEDERATE: () => {
      applied += 1
      return { accepted: true }
    },
  },
  // What is measured are deliveries, not how they are refused.
  policies: { inbound: { perIpPerMinute: 1e9, perPeerPerMinute: 1e9, discoverPerIpPerHour: 1e9 } },
})
process.on('message', () => process.send!({ applied, cpu: process.cpuUsage() }))
process.on('disconnect', () => process.exit(0))
process.send!({ origin })
