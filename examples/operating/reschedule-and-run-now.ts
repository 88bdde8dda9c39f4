// Moves a waiting job in time: to another instant, or to now.

import { MemoryStorage, Queue } from 'holdfast'

const queue = new Queue<string, string>({ storage: new MemoryStorage(), name: 'reminders' })
queue.execute(({ payload }) => `time for ${payload}`)
await queue.start()

await queue.enqueue('tea', 'tea', { delayMs: 3_600_000 })
const job = await queue.get('tea')
console.log(await queue.reschedule('tea', { runAt: job!.runAt + 1_800_000 }))
const later = await queue.get('tea')
console.log(`${later?.state}, ${(later!.runAt - job!.runAt) / 60_000} minutes later`)

console.log(await queue.runNow('tea'))
console.log(await queue.enqueueAndWait('tea', 'tea')) // joins the job
// Only a waiting job is moved. The answer has the state of any other.
console.log(await queue.runNow('tea'))
console.log(await queue.reschedule('coffee', { delayMs: 1_000 }))
await queue.stop()
