// The receiving server, in its own process: verifies, decrypts, writes the follow and acknowledges. Exits with its parent.
//
//   receiver.ts <port of the sender> [<folder of the database; without it, in memory>]

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
  // Rate limits would measure refusals instead of deliveries.
  policies: { inbound: { perIpPerMinute: 1e9, perPeerPerMinute: 1e9, discoverPerIpPerHour: 1e9 } },
})
process.on('message', () => process.send!({ applied, cpu: process.cpuUsage() }))
process.on('disconnect', () => process.exit(0))
process.send!({ origin })
