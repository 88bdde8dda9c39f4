// rateLimited(): returned, thrown, or answered by onError, on every face.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fail, rateLimited, type RateLimitScope, snooze } from 'holdfast'
import { defineJobTypes, rateLimited as ofChains } from 'holdfast/chains'
import { rateLimited as ofTasks } from 'holdfast/tasks'
import { clockBench as chainBench } from '../../chains/clock-bench.ts'
import { clockBench } from '../../queue/clock-bench.ts'
import { tasksBench } from '../../tasks/clock-bench.ts'
import { anything, recordEvents, recordingQueue } from '../../tasks/fakes.ts'
import { createTasks } from 'holdfast/tasks'

const [second, minute, hour] = [1_000, 60_000, 3_600_000]
const rare = { pollMs: hour, leaseMs: hour, presenceMs: false } as const

test('[F23] it is one function on every face, and wrong options are refused', () => {
  assert.deepEqual([ofChains, ofTasks], [rateLimited, rateLimited])
  const directive = rateLimited({ retryAfterMs: 5 })
  assert.deepEqual([directive.name, directive.code, directive.scope], ['RateLimitedError', 'RATE_LIMITED', 'type'])
  for (const options of [
    undefined,
    {},
    { retryAfterMs: -1 },
    { retryAfterMs: '5' },
    { retryAfterMs: 5, scope: 'queue' },
    { retryAfter: 5 },
  ]) {
    assert.throws(() => rateLimited(options as never), { code: 'INVALID_ARGUMENT' })
  }
  assert.throws(() => rateLimited({ retryAfter: 5 } as never), { message: /did you mean retryAfterMs/ })
})

describe('rateLimited() on a Queue', () => {
  const seen: Readonly<Record<RateLimitScope, readonly number[]>> = {
    // When a, b (of a's group), c (of another) and d (of none) run: a is told to slow down for a minute.
    type: [minute, minute, minute, minute],
    group: [minute, minute, second, second],
    job: [minute, second, second, second],
  }
  for (const [scope, expected] of Object.entries(seen) as [RateLimitScope, readonly number[]][]) {
    test(`[F23] scope '${scope}': nothing else of it starts before, in any process`, async (t) => {
      const { queue: newQueue, clock, now } = clockBench(t)
      const ended = new Map<string, number>()
      let told = 0
      const workers = [newQueue<number>({ ...rare, maxAttempts: 1 }), newQueue<number>({ ...rare, maxAttempts: 1 })]
      const events: unknown[] = []
      for (const queue of workers) {
        queue.on('rate_limited', (...args) => void events.push(args))
        queue.on('released', (id) => void events.push(['released', id]))
        queue.execute(({ id, attempts }) => {
          assert.equal(attempts, 1)
          if (id === 'a' && ++told === 1) throw rateLimited({ retryAfterMs: minute, scope })
          ended.set(id, now())
        })
        await queue.start()
      }
      const [queue] = workers
      await queue!.enqueue('a', 1, { group: 'g' })
      await clock.advance(second)
      assert.deepEqual(events, [
        ['a', minute, scope],
        ['released', 'a'],
      ])
      const { slowedUntil } = await queue!.counts()
      assert.equal(slowedUntil, scope === 'type' ? clock.now() - second + minute : undefined)
      await queue!.enqueue('b', 1, { group: 'g' })
      await queue!.enqueue('c', 1, { group: 'h' })
      await queue!.enqueue('d', 1)
      await clock.advance(2 * minute)
      assert.deepEqual(
        ['a', 'b', 'c', 'd'].map((id) => ended.get(id)),
        expected,
      )
      assert.equal((await queue!.counts()).slowedUntil, undefined)
    })
  }

  test('[F23] it costs no attempt, however often, and its cause is kept; a cancelled job stays cancelled', async (t) => {
    const { queue: newQueue, clock } = clockBench(t)
    const queue = newQueue<number>({ ...rare, maxAttempts: 1, maxSnoozes: 0 })
    let runs = 0
    queue.execute(() => {
      runs++
      return rateLimited({ retryAfterMs: second, cause: new Error('status 429') })
    })
    await queue.start()
    await queue.enqueue('a', 1)
    await clock.advance(20 * second)
    assert.ok(runs >= 20, `${runs} runs`)
    const job = await queue.get('a')
    assert.deepEqual([job!.state, job!.attempts, job!.error!.message], ['scheduled', 0, 'status 429'])
    await queue.cancel('a')
    await clock.advance(minute)
    assert.equal((await queue.getStatus('a'))!.state, 'cancelled')
  })

  test('[F12] [F23] onError may answer it: the error of the handler is the reason', async (t) => {
    const { queue: newQueue, clock } = clockBench(t)
    const queue = newQueue<number>({
      ...rare,
      maxAttempts: 1,
      onError: (error) =>
        (error as { status?: number }).status === 429 ? rateLimited({ retryAfterMs: minute }) : fail(),
    })
    let isBusy = true
    queue.execute(() => {
      if (isBusy) throw Object.assign(new Error('too many'), { status: 429 })
    })
    await queue.start()
    await queue.enqueue('a', 1)
    await clock.advance(second)
    assert.deepEqual([(await queue.get('a'))!.state, (await queue.get('a'))!.error!.message], ['scheduled', 'too many'])
    isBusy = false
    await clock.advance(minute)
    assert.equal((await queue.getStatus('a'))!.state, 'completed')
  })

  test('[F23] [F38] the logger is told, and so is the channel', async (t) => {
    const { queue: newQueue, clock } = clockBench(t)
    const lines: string[] = []
    const queue = newQueue<number>({ ...rare, logger: { warn: (_, message) => void lines.push(message) } })
    queue.execute(() => rateLimited({ retryAfterMs: 500 * second, scope: 'group' }))
    await queue.start()
    await queue.enqueue('a', 1, { group: 'g' })
    await clock.advance(second)
    assert.deepEqual(lines, [
      "queue 'default': job 'a' was told to slow down: the jobs of its group wait for 500000 ms",
    ])
  })

  test('[F18] a run that was told to slow down does not count among the snoozes', async (t) => {
    const { queue: newQueue, clock } = clockBench(t)
    const queue = newQueue<number>({ ...rare, maxSnoozes: 1 })
    const answers = [
      ...(['type', 'group', 'job'] as const).map((scope) => rateLimited({ retryAfterMs: second, scope })),
      snooze({ delayMs: second }),
    ]
    queue.execute(() => answers.shift() ?? 5)
    await queue.start()
    await queue.enqueue('a', 1)
    await clock.advance(minute)
    assert.equal((await queue.get('a'))!.result, 5)
  })

  test('[F18] a snooze has its own bound', async (t) => {
    const { queue: newQueue, clock } = clockBench(t)
    const queue = newQueue<number>({ ...rare, maxSnoozes: 1 })
    queue.execute(() => snooze({ delayMs: second }))
    await queue.start()
    await queue.enqueue('a', 1)
    await clock.advance(minute)
    assert.equal((await queue.get('a'))!.error!.code, 'MAX_SNOOZES')
  })
})

test('[F23] chains: returned as the output or thrown, and the observer is told', async (t) => {
  const types = defineJobTypes<{ call: { entry: true; input: string; output: number } }>()
  const { client, clock, work } = await chainBench(t, types)
  const told: unknown[] = []
  const began = clock.now()
  const ended: [string, number][] = []
  let calls = 0
  await work(
    {
      call: {
        process: async ({ job, complete }) => {
          if (++calls === 1) throw rateLimited({ retryAfterMs: minute })
          if (calls === 2) return complete(rateLimited({ retryAfterMs: minute, scope: 'job' }) as never)
          ended.push([job.input, clock.now() - began])
          return complete(1)
        },
      },
    },
    { observer: { jobRateLimited: ({ scope, retryAfterMs }) => void told.push([scope, retryAfterMs]) } },
  )
  const chain = await client.startJobChain({ typeName: 'call', input: 'a' })
  await clock.settle()
  await client.startJobChain({ typeName: 'call', input: 'b' })
  await clock.advance(5 * minute)
  assert.deepEqual(told, [
    ['type', minute],
    ['job', minute],
  ])
  assert.deepEqual(ended, [
    ['a', minute],
    ['b', 2 * minute],
  ])
  assert.equal((await client.getJob(chain))!.failures, 0)
})

describe('rateLimited() of tasks', () => {
  test('[F23] on a storage: the other tasks of the queue wait, too', async (t) => {
    const { tasks, clock, events } = tasksBench(t, { maxAttempts: 1 })
    const ran: [string, number][] = []
    const began = clock.now()
    let told = 0
    const task = tasks.defineTask('call', {
      schema: anything<string>(),
      handler: (_context, data) => {
        if (++told === 1) return rateLimited({ retryAfterMs: minute })
        ran.push([data, clock.now() - began])
        return undefined
      },
    })
    await tasks.start()
    await tasks.enqueueTask(task, 'a')
    await clock.advance(second)
    await tasks.enqueueTask(task, 'b')
    await clock.advance(2 * minute)
    assert.deepEqual(ran.toSorted(), [
      ['a', minute],
      ['b', minute],
    ])
    const [limited, released] = events.filter(({ name }) => name === 'rate_limited' || name === 'released')
    assert.partialDeepStrictEqual(limited, { name: 'rate_limited', task: 'call', attempt: 1, scope: 'type' })
    assert.equal(released!.name, 'released')
  })

  test('[F23] onError may answer it', async (t) => {
    const { tasks, clock, events } = tasksBench(t, { maxAttempts: 1 })
    let runs = 0
    const task = tasks.defineTask('call', {
      schema: anything<string>(),
      handler: () => {
        if (++runs === 1) throw new Error('status 429')
      },
      onError: () => rateLimited({ retryAfterMs: minute, scope: 'job' }),
    })
    await tasks.start()
    const { id } = await tasks.enqueueTask(task, 'a')
    await clock.advance(second)
    assert.equal((await tasks.get(id!))!.error!.message, 'status 429')
    await clock.advance(minute)
    assert.deepEqual([runs, events.at(-1)!.name], [2, 'completed'])
  })

  test('[F23] on a foreign queue the task alone is sent again, with the same attempt', async () => {
    const queue = recordingQueue({})
    const tasks = createTasks({ queue })
    const events = recordEvents(tasks)
    const task = tasks.defineTask('t', { schema: anything(), handler: () => rateLimited({ retryAfterMs: 50 }) })
    await tasks.start()
    await tasks.enqueueTask(task, 1)
    await queue.deliver()
    const { messages, options } = queue.sent[1]!
    assert.deepEqual([messages[0].attempt, options], [1, { delay: 50 }])
    assert.deepEqual(
      events.map(({ name }) => name),
      ['enqueued', 'started', 'rate_limited', 'released'],
    )
    await tasks.stop()
  })
})
