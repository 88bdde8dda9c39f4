// Schemas of tasks: what travels, what the handler gets, and what the types infer.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { createTasks, StorageMessageQueue } from 'holdfast/tasks'
import * as z from 'zod'
import { listOf } from '../../../conformance/src/message-queue/queue-case.ts'
import { until } from '../queue/driver.ts'
import { recordEvents, recordingQueue, schemaOf } from './fakes.ts'

const orders = z.object({ at: z.coerce.date(), count: z.number().default(1) })

test('[T3] a schema that transforms: the message carries its input, and every run gets its output', async (t) => {
  const tasks = createTasks({ storage: new MemoryStorage(), taskRetryPolicy: () => 0 })
  t.after(() => tasks[Symbol.asyncDispose]())
  const seen: z.output<typeof orders>[] = []
  const task = tasks.defineTask('order', {
    schema: orders,
    handler: (_context, data) => {
      seen.push(data)
      if (seen.length === 1) throw new Error('first run')
    },
  })
  await tasks.start()
  await tasks.enqueueTask(task, { at: '2026-01-01' })
  await until(() => seen.length === 2)
  for (const data of seen) assert.deepEqual(data, { at: new Date('2026-01-01'), count: 1 })
})

test('[T3] types: input at the enqueue, output in the handler', () => {
  const tasks = createTasks({ queue: recordingQueue() })
  const task = tasks.defineTask('order', {
    schema: orders,
    handler: (_context, data) => void (data.at satisfies Date, data.count satisfies number),
  })
  // @ts-expect-error -- a required member is missing
  tasks.enqueueTask(task, {}).catch(() => {})
  // @ts-expect-error -- not a list of inputs
  tasks.enqueueTaskMany(task, [1]).catch(() => {})
})

test('[T3] types: the input is inferred from the task alone, never widened by the data', () => {
  const tasks = createTasks({ queue: recordingQueue() })
  const mode = tasks.defineTask('mode', { schema: z.enum(['fast', 'slow']), handler: () => {} })
  const either = tasks.defineTask('either', { schema: z.union([z.string(), z.number()]), handler: () => {} })
  tasks.enqueueTask(mode, 'fast').catch(() => {})
  tasks.enqueueTaskMany(either, ['x', 1]).catch(() => {})
  // @ts-expect-error -- not a member of the enum
  tasks.enqueueTask(mode, 'other').catch(() => {})
  // @ts-expect-error -- no input of the task, though its type would fit a wider one
  tasks.enqueueTask(either, true).catch(() => {})
  // @ts-expect-error -- one of the batch is no input
  tasks.enqueueTaskMany(mode, ['fast', 'other']).catch(() => {})
})

test('[T3] an asynchronous schema is awaited, at the enqueue and at the run', async () => {
  const queue = recordingQueue()
  const tasks = createTasks({ queue })
  const seen: unknown[] = []
  const schema = schemaOf(async (value: number) => value + 1)
  const task = tasks.defineTask('t', { schema, handler: (_context, data) => void seen.push(data) })
  await tasks.start()
  await tasks.enqueueTask(task, 1)
  await queue.deliver()
  assert.deepEqual(seen, [2])
  await tasks.stop()
})

test('[T3] data that a newer schema refuses fails at once, and is kept as failed on a storage', async (t) => {
  const storage = new MemoryStorage()
  const sender = createTasks({ storage })
  await sender.enqueueTask(sender.defineTask('t', { schema: z.number(), handler: () => {} }), 1)
  const queue = new StorageMessageQueue(storage)
  const worker = createTasks({ queue })
  t.after(async () => {
    await worker.stop()
    await queue.close()
    await sender[Symbol.asyncDispose]()
  })
  const events = recordEvents(worker)
  worker.defineTask('t', { schema: z.string(), handler: () => assert.fail('it must not run') })
  await worker.start()
  await until(async () => (await listOf(queue.failed())).length === 1)
  const [failed] = await listOf(queue.failed())
  assert.deepEqual([failed!.attempts, failed!.error.code], [1, 'SCHEMA_REJECTED'])
  assert.deepEqual(
    events.map((event) => [event.name, 'reason' in event && event.reason]),
    [['failed', 'validation']],
  )
})
