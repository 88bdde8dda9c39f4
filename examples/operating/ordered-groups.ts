// Jobs of one group run one at a time, in the order in which they were accepted, also across retries. Groups do not wait for
// each other.

import { MemoryStorage, Queue } from 'holdfast'

const queue = new Queue<{ account: string; booking: number }>({
  storage: new MemoryStorage(),
  name: 'bookings',
  concurrency: 8,
  backoff: { type: 'fixed', delayMs: 20 },
})
const runs: Record<string, string[]> = { ada: [], grace: [] }
queue.execute(async ({ payload: { account, booking }, attempts }) => {
  const fails = account === 'ada' && booking === 1 && attempts === 1
  runs[account]!.push(`${booking}${fails ? ' fails' : ''}`)
  if (fails) throw new Error('the bank is busy')
})

const bookings = [1, 2, 3].flatMap((booking) => ['ada', 'grace'].map((account) => ({ account, booking })))
await queue.enqueueMany(
  bookings.map((payload) => ({
    id: `${payload.account}-${payload.booking}`,
    payload,
    group: { key: payload.account, ordered: true },
  })),
)
const allCompleted = new Promise<void>((resolve) => {
  let completed = 0
  queue.on('completed', () => ++completed === bookings.length && resolve())
})
await queue.start()
await allCompleted
for (const [account, numbers] of Object.entries(runs)) console.log(`${account}: ${numbers.join(', ')}`)
await queue.stop()
