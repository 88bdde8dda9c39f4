// The queue that the servers of this folder show: every third mail fails.

import { MemoryStorage, Queue } from 'holdfast'

export const storage = new MemoryStorage()
export const queue = new Queue<{ to: string }>({ storage, name: 'mail', maxAttempts: 2 })
queue.execute(({ id }) => {
  if (Number(id.slice('mail-'.length)) % 3 === 0) throw new Error('connection refused')
})
await queue.start()
for (let n = 1; n <= 9; n++) await queue.enqueue(`mail-${n}`, { to: `customer-${n}@example.com` })
