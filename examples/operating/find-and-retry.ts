// Finds failed jobs, shows why they failed, repairs the cause, and runs them again.

import { createAdmin, MemoryStorage, Queue } from 'holdfast'

const storage = new MemoryStorage()
let mailServerIsUp = false

const queue = new Queue<{ to: string }, string>({ storage, name: 'mail', maxAttempts: 1 })
queue.execute(({ payload }) => {
  if (!mailServerIsUp) throw new Error('connect ECONNREFUSED')
  return `sent to ${payload.to}`
})
await queue.start()
for (const to of ['ada', 'grace']) await queue.enqueueAndWait(`mail-${to}`, { to }).catch(() => {})

const admin = createAdmin({ storage, by: 'operator' })
const { items } = await admin.jobs.list({ states: ['failed'], order: 'asc' })
for (const job of items) {
  const details = await admin.jobs.get(job)
  console.log(`${job.face} '${job.name}', job ${job.id}: ${details?.error?.message}`)
}

mailServerIsUp = true
for (const { status } of await admin.jobs.retry(items)) console.log(status)
// A retried job is an ordinary job again: enqueueAndWait joins it.
for (const { id } of items) console.log(await queue.enqueueAndWait(id, { to: '' }))

await admin.close()
await queue.stop()
