// A job that fails for good adds a letter to another queue, which can alert people. A redrive runs the failed jobs again.

import { type DeadLetter, fail, MemoryStorage, Queue } from 'holdfast'

interface Mail {
  readonly to: string
}

const storage = new MemoryStorage()
const mail = new Queue<Mail, string>({ storage, name: 'mail', deadLetter: 'dead-mail' })
const dead = new Queue<DeadLetter<Mail>>({ storage, name: 'dead-mail' })
mail.execute(({ payload: { to } }) => (to.includes('@') ? `sent to ${to}` : fail(`'${to}' is no address`)))

const told = Promise.withResolvers<void>()
dead.execute(({ payload: { queue, id, error, attempts } }) => {
  console.log(`alert: ${queue}/${id} failed after ${attempts} attempt: ${error.message}`)
  told.resolve()
})
await Promise.all([mail.start(), dead.start()])
await mail.enqueue('m-1', { to: 'ada' })
await told.promise

// The failed job itself is kept, too. It runs again with a corrected payload.
const { done } = await mail.redrive({}, { edit: ({ to }) => ({ to: `${to}@example.com` }), perSecond: 100 }).result
console.log(`${done} job runs again: ${await mail.enqueueAndWait('m-1', { to: '' })}`)
await Promise.all([mail.stop(), dead.stop()])
