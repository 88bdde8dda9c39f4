// One queue for many tenants: groups take turns, each runs two jobs at a time, and none may fill the queue. An operator gives one more.

import { createAdmin, isHoldfastError, MemoryStorage, Queue } from 'holdfast'
import { fakeClock } from 'holdfast/testing'

const clock = fakeClock()
const storage = new MemoryStorage({ clock })
const queue = new Queue<string>({
  storage,
  clock,
  name: 'exports',
  concurrency: 10,
  limits: { concurrency: 4, group: { limit: 2, maxWaiting: 5 } },
})
const running = new Map<string, number>()
let round = 0
queue.execute(async ({ payload: tenant }) => {
  running.set(tenant, (running.get(tenant) ?? 0) + 1)
  await new Promise<void>((resolve) => void clock.after(1_000, resolve))
  running.set(tenant, running.get(tenant)! - 1)
})

const enqueue = async (tenant: string, count: number): Promise<void> => {
  for (let n = 0; n < count; n++) {
    try {
      await queue.enqueue(`${tenant}-${round}-${n}`, tenant, { group: tenant })
    } catch (error) {
      if (!isHoldfastError(error, 'QUEUE_FULL')) throw error
      console.log(`${tenant}: ${error.message}`)
    }
  }
  round++
}
const show = (): void => {
  const counts = [...running].filter(([, count]) => count > 0).map(([tenant, count]) => `${tenant} ${count}`)
  console.log(`running: ${counts.toSorted().join(', ')}`)
}

await enqueue('large', 6)
await enqueue('small', 2)
await queue.start()
await clock.settle()
show()
await clock.advance(10_000)

// Without a deployment: one tenant may run four at a time. Workers apply it at once.
const admin = createAdmin({ storage, clock, by: 'ada' })
await admin.limits.set({ face: 'queue', name: 'exports', group: 'large' }, { limit: 4 })
const { groups } = await queue.limits()
for (const { group, override, effective } of groups) {
  console.log(`${override!.by} set the limits of ${group}: ${JSON.stringify(effective)}`)
}
await enqueue('large', 5)
await clock.settle()
show()
await clock.advance(10_000)
await admin.close()
await queue.stop()
