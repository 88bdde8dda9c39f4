// Pauses a queue in every process, while its jobs are still accepted, and resumes it.

import { MemoryStorage, Queue } from 'holdfast'

const queue = new Queue<number, string>({ storage: new MemoryStorage(), name: 'reports' })
queue.execute(({ payload }) => `report ${payload}`)
await queue.start()

await queue.pause({ by: 'ada' })
await queue.enqueue('r1', 1)
await queue.enqueue('r2', 2)
const { due, paused } = await queue.counts()
console.log(`paused by ${paused?.by}, ${due} jobs wait`)

await queue.resume()
console.log(await queue.enqueueAndWait('r1', 1)) // joins the job that waits
console.log((await queue.counts()).paused === undefined ? 'not paused' : 'paused')
await queue.stop()
