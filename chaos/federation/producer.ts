// A process of the sender that makes follows and posts, one after the other, each in a transaction with its delivery. Its successor
// continues with what was not committed. First argument: SenderConfig; second: a kill point, or nothing.

import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, Failpoint } from './failpoints.ts'
import { parsePoint } from './points.ts'
import { type Activity, activityOf, followed, openSender, type Sender, type SenderConfig } from './sender.ts'

const config = JSON.parse(process.argv[2]!) as SenderConfig
const point = process.argv[3] ? parsePoint(process.argv[3]) : undefined
const file = join(config.directory, 'committed')
const committed = new Set(existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number) : [])
const failpoint = new Failpoint(point, () => process.send!({ crashing: true }))
const sender = await openSender(config, failpoint)
let current = -1

// Recorded before the kill point: a successor must not make this activity again.
after(sender.store, 'transaction', () => {
  if (current < 0) return
  appendFileSync(file, `${current}\n`)
  failpoint.pass('commit')
})

await sender.federation.connect()
for (let number = 0; number < config.activities; number++) {
  if (committed.has(number)) continue
  current = number
  await produce(sender, activityOf(number))
}
current = -1
await sender.federation.stop()
process.disconnect()

async function produce({ federation, store, storage }: Sender, activity: Activity): Promise<void> {
  const { receiver: serverUrl, origin } = config
  if (activity.kind === 'follow') {
    await federation.follow({ followerId: activity.followerId, followingId: followed, serverUrl })
    return
  }
  const content = [{ type: 'text', value: 'x'.repeat(500) }]
  const post = { id: activity.id, authorId: 'ann', content, published: new Date().toISOString(), isPrivate: false }
  const payload = JSON.stringify({ method: 'FEDERATE_POST', federationUrl: origin, post })
  const job = { deliveryJobId: post.id, targetUrl: `${serverUrl}/api/auth/social/posts`, serverUrl, payload }
  const { deliveryJobId: id, ...fields } = job
  const isJobIn = await store.transaction(async (tx) => {
    await store.deliveries.insert({ id, name: 'deliver-post', ...fields, createdAt: Date.now() }, tx)
    const jobTx = store.storageTransaction(storage, tx)
    if (jobTx !== undefined) await federation.deliveryQueue.add('deliver-post', job, { tx: jobTx })
    return jobTx !== undefined
  })
  if (!isJobIn) await federation.deliveryQueue.add('deliver-post', job)
}
