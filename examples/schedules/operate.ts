// Looks at the schedules of every face, fires one now, pauses it and resumes it.

import { createAdmin, MemoryStorage, Queue } from 'holdfast'
import { createInProcessWorker, defineJobTypes } from 'holdfast/chains'

const storage = new MemoryStorage()
const queue = new Queue<string>({
  storage,
  name: 'mail',
  schedules: { digest: { payload: 'digest', cron: '@weekly' } },
})
queue.execute(({ payload, schedule }) => console.log(`mails the ${payload}, by schedule '${schedule?.name}'`))
await queue.start()

const worker = await createInProcessWorker({
  storage,
  jobTypeRegistry: defineJobTypes<{ tidy: { entry: true; input: { folder: string }; output: null } }>(),
  jobTypeProcessors: { tidy: { process: async ({ complete }) => complete(null) } },
  schedules: { hourly: { typeName: 'tidy', input: { folder: '/tmp' }, everyMs: 3_600_000 } },
})
await worker.start()

const admin = createAdmin({ storage, by: 'ada' })
for (const { face, typeName, name, cron, everyMs } of await admin.schedules.list()) {
  console.log(`${face} '${typeName}': ${name}, ${cron ?? `every ${everyMs} ms`}`)
}
const [digest] = await admin.schedules.list({ face: 'queue' })
const done = new Promise((resolve) => queue.once('completed', resolve))
await admin.schedules.fire(digest!)
await done
await admin.schedules.pause(digest!)
const [paused] = await queue.schedules.list()
console.log(`paused by ${paused!.paused!.by}, next slot: ${paused!.nextAt}`)
await admin.schedules.resume(digest!)

await admin.close()
await worker.stop()
await queue.stop()
