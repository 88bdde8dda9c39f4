// As queue/busy-loops.ts, on tasks: loops of calls without another await let the worker of the same process run.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTasks } from 'holdfast/tasks'
import type { ProcessDriver } from '../processes/drivers.ts'
import { anything } from './fakes.ts'

const [mostReads, mostTasks] = [1_000_000, 50_000]

export function busyLoopTests(driver: ProcessDriver): void {
  test(`loops of reads until a task has run end, and loops of enqueueTask() let it run, on ${driver.name}`, async (t) => {
    const place = await driver.open()
    const tasks = createTasks({ storage: place.storage(), logger: {} })
    t.after(async () => {
      await tasks[Symbol.asyncDispose]()
      await place.close()
    })
    const runs: unknown[] = []
    const task = tasks.defineTask('t', {
      schema: anything(),
      handler: async (_context, data) => {
        // A timer: what runs in microtasks alone would run anyway.
        await new Promise((resolve) => setTimeout(resolve, 5))
        runs.push(data)
      },
    })
    await tasks.start()
    const reads: Record<string, (id: string) => Promise<boolean>> = {
      get: async (id) => (await tasks.get(id)) === null,
      counts: async () => (await tasks.counts()).states.processing === 0 && (await tasks.counts()).due === 0,
      getDepth: async () => (await tasks.getDepth()).queued === 0,
    }
    for (const [name, isDone] of Object.entries(reads)) {
      const { id } = await tasks.enqueueTask(task, name)
      for (let calls = 0; !(await isDone(id!)); calls++) assert.ok(calls < mostReads, `${name}: the task never ran`)
    }
    runs.length = 0
    for (let added = 0; runs.length === 0; added++) {
      assert.ok(added < mostTasks, 'no task ran')
      await tasks.enqueueTask(task, added)
    }
  })
}
