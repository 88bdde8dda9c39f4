// Follows a user at https://peer.test with a real TLS connection, in its own process: it trusts the authority of the test by
// NODE_EXTRA_CA_CERTS. Prints what became of the follow.

import { once } from 'node:events'
import { MemoryStorage } from 'holdfast'
import { createFederation } from '../../src/create.ts'
import { generateKeyring } from '../../src/keyring.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'

export interface UnprovenOrder {
  readonly port: number
  readonly isAllowed: boolean
}

export interface UnprovenResult {
  readonly outcome: string
  readonly isProven?: boolean
  readonly accepted: boolean
  readonly acknowledged: boolean
}

const { port, isAllowed } = JSON.parse(process.argv[2]!) as UnprovenOrder
const origin = `https://peer.test:${port}`
const store = sqliteStore({ path: ':memory:' })
const federation = createFederation({
  profile: 'seed',
  origin: 'https://self.test',
  storage: new MemoryStorage(),
  store,
  keyring: await generateKeyring(),
  http: {
    allowCidrs: ['127.0.0.0/8'],
    allowPorts: [port],
    resolver: async () => [{ address: '127.0.0.1', family: 4 }],
  },
  policies: { delivery: { acceptUnprovenFollowAcks: isAllowed } },
})
await federation.start()
const ended = Promise.race([
  once(federation, 'delivered').then(([{ isProven }]) => ({ outcome: 'delivered', isProven: isProven as boolean })),
  once(federation, 'delivery_failed').then(([{ code }]) => ({ outcome: String(code) })),
])
await federation.follow({ followerId: 'alice', followingId: 'bob', serverUrl: origin })
const end = await ended
const { accepted, acknowledged } = (await store.follows.find('alice', 'bob', origin))!
const result: UnprovenResult = { ...end, accepted, acknowledged }
process.send!(result)
await federation.stop({ graceMs: 0 })
