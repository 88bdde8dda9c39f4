// Why does my job not run? explain() says it in a sentence, with a code for programs.

import { createAdmin, MemoryStorage, Queue } from 'holdfast'
import { fakeClock } from 'holdfast/testing'

const clock = fakeClock()
const storage = new MemoryStorage({ clock })
const options = { storage, clock, name: 'exports', workerId: 'worker-1', limits: { group: { limit: 1 } } } as const
const queue = new Queue<string>(options)
queue.execute(() => new Promise<void>((resolve) => void clock.after(10_000, resolve)))

await queue.enqueue('81', 'all orders', { group: 'tenant-7' })
await queue.enqueue('82', 'all invoices', { group: 'tenant-7' })
await queue.enqueue('83', 'all customers', { delayMs: 3_600_000 })
await queue.start()
await clock.advance(5_000)

const show = async (id: string): Promise<void> => {
  const { reasons } = await queue.explain(id)
  for (const { code, sentence } of reasons) console.log(`${id} ${code}: ${sentence}`)
}
for (const id of ['81', '82', '83', '84']) await show(id)

// The same for the jobs of every face, with what ends by itself and what a person has to end.
const admin = createAdmin({ storage, clock, by: 'ada' })
await admin.pause({ face: 'queue', name: 'exports' })
const { reasons, next } = await admin.explain({ face: 'queue', name: 'exports', id: '83' })
for (const { code, until } of reasons)
  console.log(code, until === undefined ? 'until a person ends it' : 'ends by itself')
console.log(next === undefined ? 'when it starts is not known' : `starts at ${next}`)

await admin.resume({ face: 'queue', name: 'exports' })
await clock.advance(5_000)
await show('82')
await admin.close()
const stopped = queue.stop()
await clock.advance(10_000)
await stopped
