// Loops of calls without another await, of a caller that waits for a job or adds many: they do not keep the worker of the same
// process from running. The calls are counted, because a loop that starves the event loop starves the timeout of its test too.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Admin, createAdmin, type Queue } from 'holdfast'
import { bench, type TestDriver } from './driver.ts'

/** Far more than any driver answers while a handler of 5 ms runs. */
const [mostReads, mostAdds] = [1_000_000, 50_000]

type Read = (id: string, queue: Queue<number, number>, admin: Admin) => Promise<boolean>

/** Each asks whether the job has completed. */
const reads: Readonly<Record<string, Read>> = {
  getStatus: async (id, queue) => (await queue.getStatus(id))?.state === 'completed',
  getResult: async (id, queue) => (await queue.getResult(id)) !== null,
  get: async (id, queue) => (await queue.get(id))?.state === 'completed',
  logs: async (id, queue) => (await queue.logs(id))!.lines.length > 0,
  list: async (id, queue) => (await queue.list({ states: ['completed'] })).items.some((job) => job.id === id),
  counts: async (_, queue) => (await queue.counts()).states.processing === 0 && (await queue.counts()).due === 0,
  'jobs.get': async (id, queue, admin) =>
    (await admin.jobs.get({ face: 'queue', name: queue.name, id }))?.state === 'completed',
  types: async (_, queue, admin) =>
    (await admin.types()).some(({ name, states, due }) => name === queue.name && due + states.processing === 0),
}

export function busyLoopTests(driver: TestDriver): void {
  describe(`${driver.name}: busy loops`, () => {
    test('a loop of any read until the job has completed ends', async (t) => {
      const { storage, queue: newQueue } = await bench(t, driver)
      const queue = newQueue<number, number>()
      await start(queue)
      await using admin = createAdmin({ storage })
      for (const [name, isDone] of Object.entries(reads)) {
        await queue.enqueue(name, 1)
        for (let calls = 0; !(await isDone(name, queue, admin)); calls++) {
          assert.ok(calls < mostReads, `${name}: the job never ran`)
        }
      }
    })

    test('a loop of enqueue() lets the worker of the same process run', async (t) => {
      const queue = (await bench(t, driver)).queue<number, number>()
      await start(queue)
      const completed: string[] = []
      queue.on('completed', (id) => completed.push(id))
      for (let added = 0; completed.length === 0; added++) {
        assert.ok(added < mostAdds, 'no job ran')
        await queue.enqueue(`job-${added}`, 1)
      }
    })
  })
}

async function start(queue: Queue<number, number>): Promise<void> {
  queue.execute(async (job) => {
    job.log('begins')
    // A timer: what runs in microtasks alone would run anyway.
    await new Promise((resolve) => setTimeout(resolve, 5))
    return job.payload
  })
  await queue.start()
}
