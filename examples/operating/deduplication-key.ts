// At most one job per key, whatever the ids: while it is live, or for a time after it was accepted.

import { MemoryStorage, Queue } from 'holdfast'

const queue = new Queue<string, string>({ storage: new MemoryStorage(), name: 'sync' })
queue.execute(({ id }) => `ran ${id}`)

async function add(id: string, deduplication: { key: string; mode?: 'simple' | 'throttle'; windowMs?: number }) {
  const answer = await queue.enqueue(id, 'ada', { deduplication })
  console.log(id, answer.status === 'duplicate' ? `is a duplicate of ${answer.id}, ${answer.state}` : answer.status)
}

// 'simple', the default: one at a time.
const simple = { key: 'calendar of ada' }
await add('sync-1', simple)
await add('sync-2', simple)
await queue.start()
console.log(await queue.enqueueAndWait('sync-1', 'ada'))
await add('sync-3', simple) // the first has ended

// 'throttle': one per hour, also if it has ended.
const throttle = { key: 'greeting of ada', mode: 'throttle', windowMs: 3_600_000 } as const
console.log(await queue.enqueueAndWait('greet-1', 'ada', { deduplication: throttle }))
await add('greet-2', throttle)
await queue.stop()
