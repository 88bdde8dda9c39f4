// progress() and log() of a task's context (F27).

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { createTasks, StorageMessageQueue } from 'holdfast/tasks'
import { fakeClock } from 'holdfast/testing'
import { anything, recordEvents, recordingQueue } from './fakes.ts'

test('[F27] progress and log lines of a task are stored with its message', async (t) => {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  const retention = { completed: { ageMs: 60_000 } }
  const queue = new StorageMessageQueue(storage, { clock, retention, logger: {} })
  const tasks = createTasks({ queue, clock })
  t.after(async () => {
    await tasks.stop()
    await queue.close()
  })
  const end = Promise.withResolvers<void>()
  const task = tasks.defineTask('t', {
    schema: anything(),
    handler: async ({ progress, log }) => {
      progress(1)
      log('began', { n: 1 })
      await end.promise
      progress(2)
    },
  })
  await tasks.start()
  const { id } = await tasks.enqueueTask(task, 1)
  const stored = async () => {
    const [record] = await storage.get([{ type: 'task.default', id: id! }], { parts: ['progress', 'log'] })
    return [String(Buffer.from(record!.progress!)), record!.log!.lines.map(({ line }) => String(Buffer.from(line)))]
  }
  await clock.advance(250)
  assert.deepEqual(await stored(), ['1', ['{"text":"began","fields":{"n":1}}']])
  end.resolve()
  await clock.settle()
  assert.equal((await stored())[0], '2')
  assert.equal((await tasks.get(id!))?.progress, 2)
})

test('[F27] on a foreign queue they are dropped', async () => {
  const queue = recordingQueue()
  const tasks = createTasks({ queue, logger: {} })
  const events = recordEvents(tasks)
  const task = tasks.defineTask('t', {
    schema: anything(),
    handler: (context) => {
      context.progress(1)
      context.log('x')
    },
  })
  await tasks.start()
  await tasks.enqueueTask(task, 1)
  await queue.deliver()
  assert.equal(events.at(-1)!.name, 'completed')
  await tasks.stop()
})
