// Every row of the table of errors: how it arrives, that nothing was sent or taken, and that the same key works afterwards.
// A wrong call of a method that returns a promise rejects; of any other, it throws.

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
const policy = (): number => 0
const bad = (options: object): TaskEnqueueOptions => ({ deduplicationKey: key, ...options })
const storageQueue = (options: object) => new StorageMessageQueue(new MemoryStorage(), options)

const thrown: readonly (readonly [code: string, what: string, call: (bench: Bench) => unknown])[] = [
  ['INVALID_ARGUMENT', 'an unknown option of createTasks', () => createTasks({ queues: 1 } as TasksOptions)],
  ['INVALID_ARGUMENT', 'a TTL of 0', () => createTasks({ taskDeduplicationTtl: 0 })],
  ['INVALID_ARGUMENT', 'a negative TTL', () => createTasks({ taskDeduplicationTtl: -1 })],
  ['INVALID_ARGUMENT', 'a queue without listen()', () => createTasks({ queue: { enqueue: 1 } as never })],
  ['INVALID_ARGUMENT', 'an unknown resolution', () => createTasks({ taskQueueResolution: 'x' as never })],
  ['INVALID_ARGUMENT', 'a timeout of 0', () => createTasks({ timeoutMs: 0 })],
  ['INVALID_ARGUMENT', 'maxAttempts of 0', () => createTasks({ maxAttempts: 0 })],
  ['INVALID_ARGUMENT', 'a bad backoff', () => createTasks({ backoff: 'sometimes' as never })],
  ['INVALID_ARGUMENT', 'a policy and maxAttempts', () => createTasks({ taskRetryPolicy: policy, maxAttempts: 3 })],
  ['INVALID_ARGUMENT', 'a policy and backoff', () => createTasks({ taskRetryPolicy: policy, backoff: 'none' })],
  ['INVALID_ARGUMENT', 'a concurrency of 0', () => storageQueue({ concurrency: 0 })],
  ['INVALID_ARGUMENT', 'a word and its alias', () => storageQueue({ pollMs: 1, pollInterval: 'PT1S' })],
  ['INVALID_ARGUMENT', 'another word and its alias', () => storageQueue({ graceMs: 1, grace: 'PT1S' })],
  ['INVALID_ARGUMENT', 'a policy beside maxAttempts', () => storageQueue({ retryPolicy: policy, maxAttempts: 3 })],
  ['INVALID_ARGUMENT', 'a policy beside backoff', () => storageQueue({ backoff: 'none', retryPolicy: policy })],
  ['INVALID_ARGUMENT', 'a bad face', () => storageQueue({ face: 'My.Face' })],
  ['INVALID_ARGUMENT', 'a bad retention', () => storageQueue({ retention: { failed: { ageMs: -1 } } })],
  ['INVALID_ARGUMENT', 'no storage', () => new StorageMessageQueue({} as never)],
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
  [
    'INVALID_ARGUMENT',
    'a policy and maxAttempts of a task',
    ({ tasks }) => tasks.defineTask('x', { schema, handler, retryPolicy: policy, maxAttempts: 1 }),
  ],
  ['INVALID_ARGUMENT', 'a listener that is no function', ({ tasks }) => tasks.on('failed', 1 as never)],
]

for (const [code, what, call] of thrown) {
  test(`[T1] ${code}: ${what} is thrown, and nothing is sent or taken`, async () => {
    const made = bench()
    assert.throws(() => call(made), isUsageError(code))
    await stillWorks(made)
  })
}

type Rejecting = readonly [code: string, what: string, call: (bench: Bench) => Promise<unknown>]

/** Wrong calls: each a TypeError, and a rejection. */
const wrongCalls: readonly Rejecting[] = [
  ['INVALID_ARGUMENT', 'an unknown option', ({ tasks, task }) => tasks.enqueueTask(task, 1, bad({ delayS: 1 }))],
  ['INVALID_ARGUMENT', 'options that are none', ({ tasks, task }) => tasks.enqueueTask(task, 1, 5 as never)],
  [
    'INVALID_ARGUMENT',
    'job for a foreign queue',
    ({ tasks, task }) => tasks.enqueueTask(task, 1, bad({ job: { priority: 1 } })),
  ],
  [
    'INVALID_ARGUMENT',
    'delayMs and its alias',
    ({ tasks, task }) => tasks.enqueueTask(task, 1, bad({ delay: 1, delayMs: 1 })),
  ],
  [
    'INVALID_ARGUMENT',
    'delayMs and runAt',
    ({ tasks, task }) => tasks.enqueueTask(task, 1, bad({ delayMs: 1, runAt: 1 })),
  ],
  ['INVALID_ARGUMENT', 'delay and runAt', ({ tasks, task }) => tasks.enqueueTask(task, 1, bad({ delay: 1, runAt: 1 }))],
  ['INVALID_ARGUMENT', 'a bad runAt', ({ tasks, task }) => tasks.enqueueTask(task, 1, bad({ runAt: new Date(NaN) }))],
  ['INVALID_ARGUMENT', 'a negative delayMs', ({ tasks, task }) => tasks.enqueueTask(task, 1, bad({ delayMs: -1 }))],
  ['UNKNOWN_TASK', 'a name for a handle', ({ tasks }) => tasks.enqueueTask('task' as never, 1 as never, bad({}))],
  ['UNKNOWN_TASK', 'a handle of other tasks', ({ tasks }) => tasks.enqueueTask(bench().task, 1, bad({}))],
  ['UNKNOWN_TASK', 'a copy of a handle', ({ tasks, task }) => tasks.enqueueTaskMany({ ...task }, [1], bad({}))],
  ...['', 1, null, 'x'.repeat(513), 'a\0b', '\ud800'].flatMap((wrong): Rejecting[] => [
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
  ]),
  ...[-1, NaN, Infinity, 101 * 365 * 86_400_000, 'P1Y', { months: 1 }, 'soon', {}].map((delay): Rejecting => [
    'INVALID_DELAY',
    `the delay ${JSON.stringify(delay)}`,
    ({ tasks, task }) => tasks.enqueueTask(task, 1, bad({ delay })),
  ]),
  [
    'INVALID_PAYLOADS',
    'payloads that are no array',
    ({ tasks, task }) => tasks.enqueueTaskMany(task, 1 as never, bad({})),
  ],
  [
    'BATCH_TOO_LARGE',
    'more than 10,000 under one key',
    ({ tasks, task }) =>
      tasks.enqueueTaskMany(
        task,
        Array.from({ length: 10_001 }, () => 1),
        bad({}),
      ),
  ],
  ['INVALID_ARGUMENT', 'a signal that is none', ({ tasks }) => tasks.start({ signal: 1 as never })],
  ['INVALID_ARGUMENT', 'a negative graceMs', ({ tasks }) => tasks.stop({ graceMs: -1 })],
  ['INVALID_ARGUMENT', 'an unknown option of run', ({ tasks }) => tasks.run({ grace: 1 } as never)],
]

for (const [code, what, call] of wrongCalls) {
  test(`[T1] ${code}: ${what} is rejected, and nothing is sent or taken`, async () => {
    const made = bench()
    await assert.rejects(
      withoutThrow(() => call(made)),
      isUsageError(code),
    )
    await stillWorks(made)
  })
}

/** Wrong data. */
const wrongData: readonly Rejecting[] = [
  ['SCHEMA_REJECTED', 'data that the schema refuses', ({ tasks, task }) => tasks.enqueueTask(task, 'bad', bad({}))],
  ['SERIALIZATION_ERROR', 'a function', ({ tasks, task }) => tasks.enqueueTask(task, { f: () => {} }, bad({}))],
  [
    'SERIALIZATION_ERROR',
    'a symbol in a batch',
    ({ tasks, task }) => tasks.enqueueTaskMany(task, [1, Symbol('s')], bad({})),
  ],
]

for (const [code, what, call] of wrongData) {
  test(`[T1] ${code}: ${what} is rejected, and nothing is sent or taken`, async () => {
    const made = bench()
    await assert.rejects(
      withoutThrow(() => call(made)),
      { code },
    )
    await stillWorks(made)
  })
}

const isUsageError =
  (code: string) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof TypeError)
    assert.deepEqual([error.name, (error as { code?: string }).code], ['TypeError', code])
    return true
  }

function withoutThrow(call: () => Promise<unknown>): Promise<unknown> {
  let promise: Promise<unknown> | undefined
  assert.doesNotThrow(() => (promise = call()))
  return promise!
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

test('[T1] NO_TASK_QUEUE: no queue is configured, or only a fallback that strict does not allow', async () => {
  for (const options of [
    {},
    { queue: { fallback: recordingQueue() }, taskQueueResolution: 'strict' },
  ] as TasksOptions[]) {
    const tasks = createTasks(options)
    const task = tasks.defineTask('task', { schema, handler })
    await assert.rejects(tasks.enqueueTask(task, 1), { name: 'TypeError', code: 'NO_TASK_QUEUE' })
  }
  for (const start of ['start', 'run'] as const) {
    await assert.rejects(
      withoutThrow(() => createTasks({})[start]()),
      { code: 'NO_TASK_QUEUE' },
    )
  }
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

test('[T1] CLOSED: after dispose every call is refused', async () => {
  for (const end of ['close', Symbol.asyncDispose] as const) {
    const { tasks, task } = bench()
    await tasks[end]()
    for (const call of [
      () => tasks.enqueueTask(task, 1),
      () => tasks.enqueueTaskMany(task, []),
      () => tasks.start(),
      () => tasks.run(),
      () => tasks.processMessage({}),
    ]) {
      await assert.rejects(withoutThrow(call), { code: 'CLOSED' })
    }
    assert.throws(() => tasks.defineTask('x', { schema, handler }), { code: 'CLOSED' })
    await tasks.stop()
  }
  const queue = new StorageMessageQueue(new MemoryStorage())
  await queue.close()
  for (const call of [() => queue.enqueue(1), () => queue.listen(() => {}), () => queue.consume(() => {})]) {
    await assert.rejects(withoutThrow(call), { code: 'CLOSED' })
  }
})

test('prototype names are ordinary names of tasks', async () => {
  const { tasks, queue } = bench()
  for (const name of ['__proto__', 'constructor', 'toString']) {
    const task = tasks.defineTask(name, { schema, handler })
    await tasks.enqueueTask(task, 1)
    assert.equal(queue.sent.at(-1)!.messages[0].task, name)
  }
})
