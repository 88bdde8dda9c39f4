// Follows the jobs of all processes: on Redis and Postgres, one stream has what every worker of the fleet does.
// With REDIS_URL the queues have a storage each, as in processes of their own. Without it, they share one in memory.

import { createAdmin, MemoryStorage, Queue, type Storage } from 'holdfast'
import { RedisStorage } from 'holdfast/redis'

const { REDIS_URL: url } = process.env
const memory = new MemoryStorage()
const newStorage = (): Storage => (url === undefined ? memory : new RedisStorage({ url }))

const web = new Queue<string>({ storage: newStorage(), name: 'mail' })
const worker = new Queue<string>({ storage: newStorage(), name: 'mail', workerId: 'worker-1', backoff: 'none' })
worker.execute(({ attempts }) => {
  if (attempts === 1) throw new Error('busy')
})
const admin = createAdmin({ storage: newStorage() })
await worker.start()

const events = admin.events({ types: [{ face: 'queue', name: 'mail' }] })
await events.ready
console.log(`scope: ${events.scope}`)
await web.enqueue('m-1', 'ada')
for await (const entry of events) {
  // A gap says that some events may be missing: read the state of the jobs again.
  if (entry.event === 'gap') continue
  console.log(`${entry.name}/${entry.id}: ${entry.event}${entry.workerId ? ` by ${entry.workerId}` : ''}`)
  if (entry.event === 'completed') break
}
await Promise.all([web.stop(), worker.stop(), admin.close()])
