// Every row of the table of errors: what is thrown or rejected, that nothing was sent or taken, and that the key then works.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { createTasks, StorageMessageQueue, type TaskEnqueueOptions, type TasksOptions } from 'holdfast/tasks'
import { anything, only, recordingKv, recordingQueue } from './fakes.ts'

type Bench = ReturnType<typeof bench>

function bench(options: TasksOptions = {}, flags: Parameters<typeof recordingQueue>[0] = {}) {
  const [queue, kv] = [recordingQueue(flags), recordingKv('setIfAbsent')]
  const tasks = createTasks({ queue, kv, ...options })
  const task = tasks.defineTask('task', { schema: only<unknown>((value) => value !== 'bad'), handler: () => {} })
  return { queue, kv, tasks, task }
}

const key = 'k'
const schema = anything()
const handler = (): void => {}
const bad = (options: object): TaskEnqueueOptions => ({ deduplicationKey: key, ...options })

/** Thrown, not rejected. */
const thrown: readonly (readonly [code: string, what: string, call: (bench: Bench) => unknown])[] = [
  ['INVALID_ARGUMENT', 'an unknown option of createTasks', () => createTasks({ queues: 1 } as TasksOptions)],
  ['INVALID_ARGUMENT', 'a TTL of 0', () => createTasks({ taskDeduplicationTtl: 0 })],
  ['INVALID_ARGUMENT', 'a negative TTL', () => createTasks({ taskDeduplicationTtl: -1 })],
  ['INVALID_ARGUMENT', 'a queue that is none', () => createTasks({ queue: { enqueue: 1 } as never })],
  ['INVALID_ARGUMENT', 'an unknown resolution', () => createTasks({ taskQueueResolution: 'x' as never })],
  ['INVALID_ARGUMENT', 'a concurrency of 0', () => new StorageMessageQueue(new MemoryStorage(), { concurrency: 0 })],
  ['INVALID_ARGUMENT', 'no storage', () => new StorageMessageQueue({} as never)],
  ['INVALID_ARGUMENT', 'an unknown option', ({ tasks, task }) => tasks.enqueueTask(task, 1, bad({ delayMs: 1 }))],
  [
    'INVALID_ARGUMENT',
    'job for a foreign queue',
    ({ tasks, task }) => tasks.enqueueTask(task, 1, bad({ job: { priority: 1 } })),
  ],
  ['INVALID_TASK_NAME', 'an empty name', ({ tasks }) => tasks.defineTask('', { schema, handler })],
  ['INVALID_TASK_NAME', 'a long name', ({ tasks }) => tasks.defineTask('é'.repeat(129), { schema, handler })],
  ['TASK_ALREADY_DEFINED', 'a name twice', ({ tasks }) => tasks.defineTask('task', { schema, handler })],
  ['INVALID_SCHEMA', 'no schema', ({ tasks }) => tasks.defineTask('x', { handler } as never)],
  [
    'INVALID_SCHEMA',
    'another version',
    ({ tasks }) => tasks.defineTask('x', { schema: { '~standard': { version: 2 } }, handler } as never),
  ],
  ['INVALID_ARGUMENT', 'no handler', ({ tasks }) => tasks.defineTask('x', { schema } as never)],
  ['UNKNOWN_TASK', 'a name for a handle', ({ tasks }) => tasks.enqueueTask('task' as never, 1, bad({}))],
  ['UNKNOWN_TASK', 'a handle of others', ({ tasks }) => tasks.enqueueTask(bench().task, 1, bad({}))],
  ['UNKNOWN_TASK', 'a look-alike', ({ tasks, task }) => tasks.enqueueTaskMany({ ...task }, [1], bad({}))],
  ...['', 1, null, 'x'.repeat(513), 'a\0b', '\ud800'].flatMap(
    (wrong): [string, string, (bench: Bench) => unknown][] => [
      [
        'INVALID_DEDUPLICATION_KEY',
        `the key ${JSON.stringify(wrong)?.slice(0, 20)}`,
        ({ tasks, task }) => tasks.enqueueTask(task, 1, { deduplicationKey: wrong as string }),
      ],
      [
        'INVALID_ORDERING_KEY',
        `the ordering key ${JSON.stringify(wrong)?.slice(0, 20)}`,
        ({ tasks, task }) => tasks.enqueueTaskMany(task, [1], bad({ orderingKey: wrong })),
      ],
    ],
  ),
  ...[-1, NaN, Infinity, 101 * 365 * 86_400_000, 'P1Y', { months: 1 }, 'soon', {}].map(
    (delay): [string, string, (bench: Bench) => unknown] => [
      'INVALID_DELAY',
      `the delay ${JSON.stringify(delay)}`,
      ({ tasks, task }) => tasks.enqueueTask(task, 1, bad({ delay })),
    ],
  ),
  [
    'INVALID_PAYLOADS',
    'payloads that are no array',
    ({ tasks, task }) => tasks.enqueueTaskMany(task, 1 as never, bad({})),
  ],
  [
    'BATCH_TOO_LARGE',
    'more than 10,000',
    ({ tasks, task }) =>
      tasks.enqueueTaskMany(
        task,
        Array.from({ length: 10_001 }, () => 1),
        bad({}),
      ),
  ],
]

for (const [code, what, call] of thrown) {
  test(`[T1] ${code}: ${what} is thrown, and nothing is sent or taken`, async () => {
    const made = bench()
    assert.throws(
      () => call(made),
      (error) => {
        assert.ok(error instanceof TypeError)
        assert.deepEqual([error.name, (error as { code?: string }).code], ['TypeError', code])
        return true
      },
    )
    await stillWorks(made)
  })
}

/** Rejected. */
const rejected: readonly (readonly [code: string, what: string, call: (bench: Bench) => Promise<unknown>])[] = [
  ['SCHEMA_REJECTED', 'data that the schema refuses', ({ tasks, task }) => tasks.enqueueTask(task, 'bad', bad({}))],
  ['SERIALIZATION_ERROR', 'a function', ({ tasks, task }) => tasks.enqueueTask(task, { f: () => {} }, bad({}))],
  [
    'SERIALIZATION_ERROR',
    'a symbol in a batch',
    ({ tasks, task }) => tasks.enqueueTaskMany(task, [1, Symbol('s')], bad({})),
  ],
]

for (const [code, what, call] of rejected) {
  test(`[T1] ${code}: ${what} is rejected, and nothing is sent or taken`, async () => {
    const made = bench()
    let promise: Promise<unknown> | undefined
    assert.doesNotThrow(() => (promise = call(made)))
    await assert.rejects(promise!, { code })
    await stillWorks(made)
  })
}

async function stillWorks({ queue, kv, tasks, task }: Bench): Promise<void> {
  assert.deepEqual([queue.sent, kv.calls], [[], []])
  assert.equal((await tasks.enqueueTask(task, 1, { deduplicationKey: key })).status, 'enqueued')
}

test('[T1] a schema that throws is SCHEMA_REJECTED, with its error as the cause', async () => {
  const { tasks, queue } = bench()
  const cause = new Error('no')
  const throwing = only<number>(() => {
    throw cause
  })
  const task = tasks.defineTask('throwing', { schema: throwing, handler })
  await assert.rejects(tasks.enqueueTask(task, 1), { code: 'SCHEMA_REJECTED', cause })
  assert.deepEqual(queue.sent, [])
})

test('[T1] NO_TASK_QUEUE: none is configured, or only a fallback that strict does not allow', () => {
  for (const options of [
    {},
    { queue: { fallback: recordingQueue() }, taskQueueResolution: 'strict' },
  ] as TasksOptions[]) {
    const tasks = createTasks(options)
    const task = tasks.defineTask('task', { schema, handler })
    assert.throws(() => tasks.enqueueTask(task, 1), { name: 'TypeError', code: 'NO_TASK_QUEUE' })
  }
  assert.throws(() => createTasks({}).start(), { code: 'NO_TASK_QUEUE' })
})

test('[T1] TOO_LARGE: a message above the limit is rejected with its size, and its key stays free', async () => {
  const queue = new StorageMessageQueue(new MemoryStorage(), { maxMessageBytes: 1_000 })
  const tasks = createTasks({ queue })
  const task = tasks.defineTask('task', { schema: anything<string>(), handler })
  await assert.rejects(tasks.enqueueTask(task, 'x'.repeat(1_000), { deduplicationKey: key }), {
    code: 'TOO_LARGE',
    limit: 1_000,
  })
  await assert.rejects(tasks.enqueueTaskMany(task, ['a', 'x'.repeat(1_000)], { deduplicationKey: key }), {
    code: 'TOO_LARGE',
    index: 1,
  })
  assert.deepEqual(await queue.getDepth(), { queued: 0, ready: 0, delayed: 0 })
  assert.equal((await tasks.enqueueTask(task, 'x', { deduplicationKey: key })).status, 'enqueued')
  await queue.close()
})

test('[T1] CLOSED: after dispose everything is refused at once', async () => {
  const { tasks, task } = bench()
  await tasks[Symbol.asyncDispose]()
  for (const call of [
    () => tasks.enqueueTask(task, 1),
    () => tasks.enqueueTaskMany(task, []),
    () => tasks.start(),
    () => tasks.processMessage({}),
    () => tasks.defineTask('x', { schema, handler }),
  ]) {
    assert.throws(call, { code: 'CLOSED' })
  }
  const queue = new StorageMessageQueue(new MemoryStorage())
  await queue.close()
  await assert.rejects(queue.enqueue(1), { code: 'CLOSED' })
  await assert.rejects(
    queue.listen(() => {}),
    { code: 'CLOSED' },
  )
})

test('names of objects’ own are names of tasks', async () => {
  const { tasks, queue } = bench()
  for (const name of ['__proto__', 'constructor', 'toString']) {
    const task = tasks.defineTask(name, { schema, handler })
    await tasks.enqueueTask(task, 1)
    assert.equal(queue.sent.at(-1)!.messages[0].task, name)
  }
})
