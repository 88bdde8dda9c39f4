// Runs many failed jobs again: with a corrected payload, not too fast, with progress, and with a stop.

import { createAdmin, fail, MemoryStorage, Queue } from 'holdfast'

interface Order {
  readonly currency: string
}

const storage = new MemoryStorage()
const queue = new Queue<Order, string>({ storage, name: 'orders', concurrency: 100 })
queue.execute(({ payload }) => (payload.currency === 'EUR' ? 'paid' : fail(`unknown currency ${payload.currency}`)))
const orders = Array.from({ length: 2_000 }, (_, n) => queue.enqueue(`order-${n}`, { currency: 'eur' }))
await Promise.all(orders)

const allHaveFailed = new Promise<void>((resolve) => {
  let failed = 0
  queue.on('failed', () => ++failed === orders.length && resolve())
})
await queue.start()
await allHaveFailed

const admin = createAdmin({ storage })
const edit = (payload: unknown): Order => ({ currency: (payload as Order).currency.toUpperCase() })

// First a few, to see whether it helps. perSecond keeps it slow, and stop() ends it.
const trial = admin.redrive({ face: 'queue', name: 'orders' }, { perSecond: 100, edit })
for await (const { done } of trial) if (done >= 25) void trial.stop()
const { done, stopped } = await trial.result
console.log(`trial: ${done} of 2000 done, stopped: ${stopped}`)

// Then all others. An action can be run again at any time: what was done no longer matches.
const shown = new Set<number>()
const action = admin.redrive(
  { face: 'queue', name: 'orders' },
  { edit, onProgress: ({ done: now, total = 0 }) => shown.add(Math.round((100 * now) / total)) },
)
const result = await action.result
console.log(`then: ${result.done} done, ${result.skipped} skipped, ${result.failed} failed`)
console.log(`progress was shown ${shown.size >= 4 ? 'several times' : 'too rarely'}, up to ${Math.max(...shown)} %`)

await admin.close()
await queue.stop()
