// Deduplication over foreign queues and stores: which one decides, in which order, and what is left behind.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTasks, kvPrefixes, type MessageQueue, type Meter, meterTasks, type TasksOptions } from 'holdfast/tasks'
import { fakeClock } from 'holdfast/testing'
import { overlap } from '../../src/tasks/options.ts'
import {
  anything,
  recordEvents,
  keepingLogger,
  only,
  type RecordingKv,
  recordingKv,
  recordingQueue,
  untouchableKv,
} from './fakes.ts'

const deduplicationKey = 'K\u00e9y: /..\n'

function bench(options: TasksOptions) {
  const tasks = createTasks(options)
  const task = tasks.defineTask('mail', { schema: anything<number>(), handler: () => {} })
  return { tasks, task, events: recordEvents(tasks) }
}

test('[S1] a queue with native deduplication gets the key verbatim, single and batch, and the store is not touched', async () => {
  const queue = recordingQueue({ nativeDeduplication: true })
  const { tasks, task, events } = bench({ queue, kv: untouchableKv() })
  const single = await tasks.enqueueTask(task, 1, { deduplicationKey, delay: 'PT1S', orderingKey: 'o' })
  const batch = await tasks.enqueueTaskMany(task, [2, 3], { deduplicationKey })
  assert.deepEqual([single.status, batch.status], ['forwarded', 'forwarded'])
  assert.deepEqual(
    queue.sent.map(({ verb, options }) => [verb, options]),
    [
      ['enqueue', { deduplicationKey, delay: 1_000, orderingKey: 'o' }],
      ['enqueueMany', { deduplicationKey }],
    ],
  )
  assert.ok(!JSON.stringify(queue.sent[0]!.messages).includes('Kéy'), 'the key does not travel in the message')
  assert.deepEqual(events, [], 'their fate is unknown')
})

test('[S1] nativeDeduplication counts only if it is exactly true', async () => {
  for (const nativeDeduplication of [1, 'true', {}] as unknown as boolean[]) {
    const [queue, kv] = [recordingQueue({ nativeDeduplication }), recordingKv('cas')]
    const { tasks, task } = bench({ queue, kv })
    await tasks.enqueueTask(task, 1, { deduplicationKey })
    assert.deepEqual(queue.sent[0]!.options, {})
    assert.equal(kv.calls.length, 1)
  }
})

for (const verb of ['setIfAbsent', 'cas'] as const) {
  test(`[S2] [W2] by ${verb}: a second enqueue inside the TTL is skipped and reported, after the TTL it is sent; the key is not forwarded`, async () => {
    const [queue, kv, logger] = [recordingQueue(), recordingKv(verb), keepingLogger()]
    const { tasks, task, events } = bench({ queue, kv, logger, taskDeduplicationTtl: 'PT1M' })
    const counts = new Map<string, number>()
    const counter = (name: string) => ({
      add: (value: number) => void counts.set(name, (counts.get(name) ?? 0) + value),
      record: () => {},
    })
    const meter: Meter = { createCounter: counter, createUpDownCounter: counter, createHistogram: counter }
    const unmeter = meterTasks(meter)
    const first = await tasks.enqueueTask(task, 1, { deduplicationKey, delay: 500 })
    const second = await tasks.enqueueTask(task, 2, { deduplicationKey })
    unmeter()
    assert.deepEqual([first.status, second.status], ['enqueued', 'duplicate'])
    assert.deepEqual(second, { status: 'duplicate', deduplicated: true, id: first.id })
    assert.deepEqual(
      queue.sent.map(({ options }) => options),
      [{ delay: 500 }],
    )
    const [write] = kv.calls
    assert.deepEqual(write!.key, [...kvPrefixes.taskDeduplication, 'mail', deduplicationKey])
    assert.deepEqual(write!.args.at(-1), { ttl: 60_500 }, 'from the due time')
    const skips = events.filter(({ name }) => name === 'deduplicated')
    assert.deepEqual(skips, [{ name: 'deduplicated', task: 'mail', queue: 'task', id: first.id, path: 'kv' }])
    assert.equal(logger.records.filter(({ level, message }) => level === 'debug' && /skipped/.test(message)).length, 1)
    assert.equal(counts.get('holdfast.tasks.deduplicated'), 1)
    kv.expire()
    assert.equal((await tasks.enqueueTask(task, 3, { deduplicationKey })).status, 'enqueued')
    assert.equal(queue.sent.length, 2)
  })

  test(`[S2] by ${verb}: of 50 concurrent enqueues one is sent`, async () => {
    const [queue, kv] = [recordingQueue(), recordingKv(verb)]
    const { tasks, task } = bench({ queue, kv })
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, number) => tasks.enqueueTask(task, number, { deduplicationKey })),
    )
    assert.equal(results.filter(({ status }) => status === 'enqueued').length, 1)
    assert.equal(new Set(results.map(({ id }) => id)).size, 1)
    assert.equal(queue.sent.length, 1)
  })
}

test('[S2] setIfAbsent is preferred to cas', async () => {
  const kv = recordingKv('cas', 'setIfAbsent')
  const { tasks, task } = bench({ queue: recordingQueue(), kv })
  await tasks.enqueueTask(task, 1, { deduplicationKey })
  assert.deepEqual(
    kv.calls.map(({ verb }) => verb),
    ['setIfAbsent'],
  )
})

for (const [name, kv] of [
  ['a store without conditional writes', recordingKv()],
  ['no store', undefined],
] as const) {
  test(`[S3] closed, with ${name}: a TypeError is thrown at once, and nothing is validated or sent`, () => {
    const queue = recordingQueue()
    const tasks = createTasks({ queue, kv, taskDeduplicationFallback: 'closed' })
    const schema = only<number>(() => assert.fail('nothing may be validated'))
    const task = tasks.defineTask('mail', { schema, handler: () => {} })
    const expected = { name: 'TypeError', code: 'DEDUPLICATION_UNAVAILABLE' }
    assert.throws(() => tasks.enqueueTask(task, 1, { deduplicationKey }), expected)
    assert.throws(() => tasks.enqueueTaskMany(task, [1, 2], { deduplicationKey }), expected)
    assert.throws(() => tasks.enqueueTaskMany(task, [], { deduplicationKey }), expected)
    assert.deepEqual([queue.sent, kv?.calls ?? []], [[], []])
  })

  test(`[S3] open, with ${name}: sent without the key, with one debug record per call`, async () => {
    const [queue, logger] = [recordingQueue({ many: false }), keepingLogger()]
    const { tasks, task } = bench({ queue, kv, logger })
    assert.equal((await tasks.enqueueTask(task, 1, { deduplicationKey })).status, 'enqueued')
    assert.equal((await tasks.enqueueTask(task, 1, { deduplicationKey })).status, 'enqueued')
    assert.deepEqual(
      logger.records.map(({ level, data }) => [level, data]),
      [
        ['debug', { task: 'mail', deduplicationKey }],
        ['debug', { task: 'mail', deduplicationKey }],
      ],
    )
    // A batch is sent one by one where the queue has no enqueueMany.
    await tasks.enqueueTaskMany(task, [1, 2, 3], { deduplicationKey })
    assert.deepEqual(
      queue.sent.map(({ options }) => options),
      [{}, {}, {}, {}, {}],
    )
    assert.equal(logger.records.length, 3)
  })
}

test('[S4] it writes under its prefix alone, default and custom, and similar keys are distinct', async () => {
  for (const prefix of [undefined, ['own', 'dedup']] as const) {
    const kv = recordingKv('setIfAbsent')
    const own = { queue: recordingQueue(), kv, kvPrefixes: prefix && { taskDeduplication: prefix } }
    const { tasks, task } = bench(own)
    const other = tasks.defineTask('mail/x', { schema: anything(), handler: () => {} })
    const idempotence = [...kvPrefixes.activityIdempotence, 'mail', 'k'] as const
    await kv.set(idempotence, 'theirs')
    kv.calls.length = 0
    for (const [handle, key] of [
      [task, 'k'],
      [task, 'x/k'],
      [other, 'k'],
      [task, 'K'],
    ] as const) {
      assert.equal((await tasks.enqueueTask(handle, 1, { deduplicationKey: key })).status, 'enqueued', key)
    }
    const expected = prefix ?? kvPrefixes.taskDeduplication
    for (const { key } of kv.calls) assert.deepEqual(key!.slice(0, expected.length), expected)
    assert.equal(kv.entries.get(JSON.stringify(idempotence)), 'theirs')
    await kv.delete(idempotence)
    assert.equal((await tasks.enqueueTask(task, 1, { deduplicationKey: 'k' })).status, 'duplicate', 'both ways')
  }
})

test('[S4] prefixes do not overlap, and one that overlaps another is refused', () => {
  const prefixes = Object.values(kvPrefixes)
  for (const a of prefixes) for (const b of prefixes) assert.equal(overlap(a, b), a === b)
  const refused = [
    [],
    [1],
    'x',
    ['_holdfast'],
    kvPrefixes.activityIdempotence,
    [...kvPrefixes.activityIdempotence, 'x'],
  ]
  for (const taskDeduplication of refused as [string][]) {
    assert.throws(() => createTasks({ queue: recordingQueue(), kvPrefixes: { taskDeduplication } }), {
      code: 'INVALID_ARGUMENT',
    })
  }
})

test('[S5] a batch: one key, one conditional write, one enqueueMany; a second batch is skipped as a whole', async () => {
  const [queue, kv] = [recordingQueue(), recordingKv('setIfAbsent')]
  const { tasks, task } = bench({ queue, kv })
  const first = await tasks.enqueueTaskMany(task, [1, 2, 3], { deduplicationKey })
  assert.deepEqual(
    kv.calls.map(({ verb }) => verb),
    ['setIfAbsent'],
  )
  assert.deepEqual(
    queue.sent.map(({ verb, messages }) => [verb, messages.length]),
    [['enqueueMany', 3]],
  )
  const second = await tasks.enqueueTaskMany(task, [4, 5], { deduplicationKey })
  const single = await tasks.enqueueTask(task, 6, { deduplicationKey })
  assert.deepEqual([first.status, second.status, single.status], ['enqueued', 'duplicate', 'duplicate'])
  assert.deepEqual([second.ids, [single.id]], [[first.ids[0]], [first.ids[0]]])
  assert.equal(queue.sent.length, 1)
})

test('[S5] an empty batch, a refused payload and one that cannot be encoded leave the key free', async () => {
  const [queue, kv] = [recordingQueue(), recordingKv('setIfAbsent')]
  const tasks = createTasks({ queue, kv })
  const task = tasks.defineTask('mail', { schema: only<unknown>((value) => value !== 'bad'), handler: () => {} })
  assert.deepEqual(await tasks.enqueueTaskMany(task, [], { deduplicationKey }), { status: 'enqueued', ids: [] })
  await assert.rejects(tasks.enqueueTaskMany(task, [1, 'bad'], { deduplicationKey }), {
    code: 'SCHEMA_REJECTED',
    index: 1,
  })
  await assert.rejects(tasks.enqueueTaskMany(task, [1, { deep: [() => {}] }], { deduplicationKey }), {
    code: 'SERIALIZATION_ERROR',
    index: 1,
    path: 'data.deep[0]',
  })
  assert.deepEqual([kv.calls, queue.sent], [[], []])
  assert.equal((await tasks.enqueueTaskMany(task, [1, 2], { deduplicationKey })).status, 'enqueued')
})

test('[S5] a keyed batch on a queue without an atomic enqueueMany is refused; a batch of one is a single task', async () => {
  for (const queue of [recordingQueue({ many: false }), recordingQueue({ atomicEnqueueMany: false })]) {
    const kv = recordingKv('setIfAbsent')
    const { tasks, task } = bench({ queue, kv })
    await assert.rejects(tasks.enqueueTaskMany(task, [1, 2], { deduplicationKey }), {
      name: 'TypeError',
      code: 'BATCH_NOT_ATOMIC',
    })
    assert.deepEqual([kv.calls, queue.sent], [[], []])
    assert.equal((await tasks.enqueueTaskMany(task, [1], { deduplicationKey })).status, 'enqueued')
    assert.deepEqual(
      queue.sent.map(({ verb }) => verb),
      ['enqueue'],
    )
  }
})

const lost = new Error('the queue is unavailable')

for (const verbs of [['setIfAbsent'], ['cas'], ['setIfAbsent', 'cas']] as const) {
  test(`[W18] a send that fails gives the key back at once (${verbs.join(', ')})`, async () => {
    const [queue, kv] = [recordingQueue(), recordingKv(...verbs)]
    const { tasks, task } = bench({ queue, kv })
    queue.failure = lost
    await assert.rejects(tasks.enqueueTask(task, 1, { deduplicationKey }), lost)
    assert.equal(kv.entries.size, 0)
    queue.failure = undefined
    assert.equal((await tasks.enqueueTask(task, 1, { deduplicationKey })).status, 'enqueued')
  })
}

test('[W18] a key that another message took meanwhile is left alone; without cas a late give-back is left to the TTL', async () => {
  const clock = fakeClock()
  const given = async (kv: RecordingKv, taken: () => unknown): Promise<unknown[]> => {
    const queue: MessageQueue = {
      ...recordingQueue(),
      enqueue: async () => {
        await taken()
        throw lost
      },
    }
    const { tasks, task } = bench({ queue, kv, clock, taskDeduplicationTtl: 1_000 })
    await assert.rejects(tasks.enqueueTask(task, 1, { deduplicationKey }), lost)
    return [...kv.entries.values()]
  }
  const withCas = recordingKv('setIfAbsent', 'cas')
  const takeOver = (): void => void withCas.entries.set([...withCas.entries.keys()][0]!, 'another')
  assert.deepEqual(await given(withCas, takeOver), ['another'])
  const without = recordingKv('setIfAbsent')
  const [left] = await given(without, () => clock.advance(600))
  assert.equal(typeof left, 'string')
})

test('[W18] a give-back that fails is a warning, and the error is the send’s', async () => {
  const [queue, kv, logger] = [recordingQueue(), recordingKv('cas'), keepingLogger()]
  const { tasks, task } = bench({ queue: { ...queue, enqueue: failBoth }, kv, logger })
  async function failBoth(): Promise<never> {
    kv.failure = new Error('the store is unavailable too')
    throw lost
  }
  await assert.rejects(tasks.enqueueTask(task, 1, { deduplicationKey }), lost)
  assert.equal(logger.records.filter(({ level }) => level === 'warn').length, 1)
})

test('[§9] a conditional write that fails is KV_FAILED, also when the fallback is open, and nothing is sent', async () => {
  const [queue, kv] = [recordingQueue(), recordingKv('setIfAbsent')]
  const { tasks, task } = bench({ queue, kv })
  kv.failure = new Error('unavailable')
  await assert.rejects(tasks.enqueueTask(task, 1, { deduplicationKey }), { code: 'KV_FAILED', cause: kv.failure })
  assert.deepEqual(queue.sent, [])
})

test('[W4] the retry of a keyed task on a foreign queue has no key', async () => {
  const [queue, kv] = [recordingQueue(), recordingKv('setIfAbsent')]
  const tasks = createTasks({ queue, kv, taskRetryPolicy: () => 10 })
  let runs = 0
  const task = tasks.defineTask('mail', {
    schema: anything<number>(),
    handler: ({ attempt }) => {
      assert.equal(attempt, ++runs)
      if (runs < 3) throw new Error('not yet')
    },
  })
  await tasks.start()
  await tasks.enqueueTask(task, 1, { deduplicationKey, orderingKey: 'o' })
  for (let run = 0; run < 3; run++) await queue.deliver()
  assert.equal(runs, 3)
  assert.deepEqual(
    queue.sent.map(({ options }) => options),
    [{ orderingKey: 'o' }, { delay: 10, orderingKey: 'o' }, { delay: 10, orderingKey: 'o' }],
  )
  assert.equal(kv.calls.length, 1, 'a retry neither renews nor frees the key')
  await tasks.stop()
})
