// Jobs with a higher priority run first, whenever they were added. The default is 0.

import { MemoryStorage, Queue } from 'holdfast'

const queue = new Queue<string>({ storage: new MemoryStorage(), name: 'render' })
queue.execute(({ id, payload }) => console.log(`${id}: renders ${payload}`))

await queue.enqueue('1', 'the nightly report')
await queue.enqueue('2', 'an invoice', { priority: 10 })
await queue.enqueue('3', 'the archive', { priority: -10 })
await queue.enqueue('4', 'a second invoice', { priority: 10 })
for (const { id, priority } of (await queue.list({ order: 'asc' })).items) console.log(`${id}: priority ${priority}`)

const lastCompleted = new Promise<void>((resolve) => queue.on('completed', (id) => id === '3' && resolve()))
await queue.start()
await lastCompleted
await queue.stop()
