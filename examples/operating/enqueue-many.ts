// Adds many jobs in one call: an answer per item, in order, and nothing is written if an item is wrong.

import { MemoryStorage, Queue } from 'holdfast'

const queue = new Queue<number>({ storage: new MemoryStorage(), name: 'newsletter' })

// In moves of at most 1,000, each atomic.
const items = Array.from({ length: 2_500 }, (_, number) => ({ id: `user-${number}`, payload: number, priority: -10 }))
const answers = await queue.enqueueMany([...items, { id: 'user-7', payload: 7 }])
const byStatus = Map.groupBy(answers, ({ status }) => status)
for (const [status, same] of byStatus) console.log(`${same.length} ${status}`)

const wrong = [
  { id: 'user-a', payload: 1 },
  { id: 'user-b', payload: 2, delayMs: -1 },
]
await queue.enqueueMany(wrong).catch((error: Error) => console.log(error.message))
console.log(`user-a: ${JSON.stringify(await queue.get('user-a'))}`)
console.log(`${(await queue.counts()).due} jobs wait`)
await queue.stop()
