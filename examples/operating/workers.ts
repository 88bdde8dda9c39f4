// Which workers live, on which host, and what they serve.

import { hostname } from 'node:os'
import { createAdmin, MemoryStorage, Queue } from 'holdfast'

const storage = new MemoryStorage()
const admin = createAdmin({ storage })
const queues = ['mail', 'reports'].map(
  (name, index) => new Queue({ storage, name, workerId: `worker-${index + 1}`, concurrency: 5 }),
)
for (const queue of queues) {
  queue.execute(() => {})
  await queue.start()
}

for (const { label, host, types, slotsUsed, concurrency } of await admin.workers()) {
  const serves = types.map(({ face, name }) => `${face} '${name}'`).join(', ')
  const where = host === hostname() ? 'this host' : host
  console.log(`${label} on ${where} serves ${serves}: ${slotsUsed} of ${concurrency} slots used`)
}

for (const queue of queues) await queue.stop()
console.log(`${(await admin.workers()).length} workers after the stop`)
await admin.close()
