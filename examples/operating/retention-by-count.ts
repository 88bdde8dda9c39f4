// Keeps the last ended jobs of a queue, and no more, whatever their age. A clock that stands still makes the minute pass at once.

import { MemoryStorage, Queue } from 'holdfast'
import { fakeClock } from 'holdfast/testing'

const clock = fakeClock()
const queue = new Queue<number>({
  storage: new MemoryStorage({ clock }),
  clock,
  name: 'ticks',
  retention: { completed: { ageMs: 86_400_000, count: 3 } }, // a day, and at most 3 records
})
queue.execute(() => {})
await queue.start()
for (let tick = 1; tick <= 10; tick++) {
  await queue.enqueue(`tick-${tick}`, tick)
  await clock.advance(1)
}
console.log(`${(await queue.counts()).states.completed} records`)

await clock.advance(60_000) // the worker sweeps at least once a minute
const { items } = await queue.list({ states: ['completed'], order: 'asc' })
console.log(`after the sweep: ${items.map(({ id }) => id).join(', ')}`)
await queue.stop()
