// What the compiler says of a Queue: most of this is checked by `npm run types`, and runs too. A line after
// `@ts-expect-error` must be an error; where it would do harm, it stands in a function that is never called.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type AttemptSignal,
  type AfterExecutionContext,
  type Backoff,
  type CancelResult,
  type EnqueueItem,
  type EnqueueItemResult,
  type EnqueueResult,
  type ErrorDetails,
  type EventStream,
  type Job,
  type JobHandler,
  type JobLog,
  type JobView,
  JsonSerde,
  type Logger,
  type MaxRetriesError,
  MemoryStorage,
  type MessageState,
  type MessageStatus,
  Queue,
  type QueueConfig,
  type QueueEvent,
  type QueueEvents,
  type RateLimitScope,
  Reaper,
  type RescheduleResult,
  type Serde,
  type Storage,
  type UpdateResultTTLResult,
} from 'holdfast'
import { type Refusal } from 'holdfast/storage'
import { bench, type TestDriver } from './driver.ts'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? [] : [never]

/** Compiles only if the two types are one. */
function same<A, B>(...nothing: Same<A, B>): void {
  assert.equal(nothing.length, 0)
}

const handler: JobHandler<Mail, number> = async (job) => job.payload.to.length

interface Mail {
  readonly to: string
}

export function typeTests(driver: TestDriver): void {
  describe(`${driver.name}: types`, () => {
    test('Queue<P> has a void result', async (t) => {
      const { storage } = await bench(t, driver)
      const queue = new Queue<Mail>({ storage })
      t.after(() => queue.stop())
      queue.execute(async (job) => {
        same<typeof job, Job<Mail>>()
        same<typeof job.payload.to, string>()
        assert.equal(job.payload.to, 'ada')
      })
      await queue.start()
      const result = await queue.enqueueAndWait('a', { to: 'ada' })
      same<typeof result, void>()
      const answer = await queue.enqueue('a', { to: 'ada' })
      same<typeof answer, EnqueueResult<void>>()
      same<Awaited<ReturnType<typeof queue.getResult>>, void | null>()
      same<Awaited<ReturnType<typeof queue.getStatus>>, MessageStatus<void> | null>()
      queue.on('completed', (id, value) => {
        same<typeof id, string>()
        same<typeof value, void>()
      })
    })

    test('a result has its type wherever it comes out', async (t) => {
      const { storage } = await bench(t, driver)
      const queue = new Queue<Mail, number>({
        storage,
        afterExecution: (context) => same<typeof context.result, number | undefined>(),
      })
      t.after(() => queue.stop())
      queue.execute((job) => job.payload.to.length)
      await queue.start()
      same<Awaited<ReturnType<typeof queue.enqueueAndWait>>, number>()
      same<Awaited<ReturnType<typeof queue.getResult>>, number | null>()
      same<Awaited<ReturnType<typeof queue.cancel>>, CancelResult>()
      same<Awaited<ReturnType<typeof queue.updateResultTTL>>, UpdateResultTTLResult>()
      same<Awaited<ReturnType<typeof queue.enqueueMany>>, EnqueueItemResult<number>[]>()
      same<Awaited<ReturnType<typeof queue.get>>, JobView<Mail, number> | null>()
      same<Awaited<ReturnType<typeof queue.logs>>, JobLog | null>()
      same<Awaited<ReturnType<typeof queue.runNow>>, RescheduleResult>()
      same<Parameters<typeof queue.enqueueMany>[0], readonly EnqueueItem<Mail>[]>()
      assert.equal((await queue.enqueueAndWait('a', { to: 'ada' })).toFixed(1), '3.0')
      const answer = await queue.enqueue('a', { to: 'ada' })
      if (answer.status === 'completed') same<typeof answer.result, number>()
      else if (answer.status === 'duplicate') same<typeof answer.existingState, MessageState>()
      else if (answer.status === 'stale') same<typeof answer.version, number>()
      else if (answer.status === 'replaced') same<typeof answer.state, MessageState>()
      else same<typeof answer, { status: 'queued' }>()
      const status = await queue.getStatus('a')
      same<NonNullable<typeof status>['error'], ErrorDetails | undefined>()
    })

    test('a handler that is called back has its parameters typed, in a lambda too', async (t) => {
      const { storage } = await bench(t, driver)
      const queue = new Queue<Mail, number>({ storage })
      t.after(() => queue.stop())
      queue.execute((job, callback) => {
        same<typeof job, Job<Mail>>()
        same<typeof callback, (error: Error | null, result?: number) => void>()
        same<typeof job.signal, AttemptSignal>()
        setImmediate(() => callback(null, job.payload.to.length))
      })
      await queue.start()
      assert.equal(await queue.enqueueAndWait('a', { to: 'ada' }), 3)
    })

    test('the arguments of each event', async (t) => {
      const { storage } = await bench(t, driver)
      const queue = new Queue<Mail, number>({ storage })
      queue.on('started', (...args) => same<typeof args, []>())
      queue.on('stopped', (...args) => same<typeof args, []>())
      queue.on('error', (...args) => same<typeof args, [error: Error]>())
      queue.on('enqueued', (...args) => same<typeof args, [id: string]>())
      queue.on('completed', (...args) => same<typeof args, [id: string, result: number]>())
      queue.on('failing', (...args) => same<typeof args, [id: string, error: Error, attempt: number]>())
      queue.once('failed', (...args) => same<typeof args, [id: string, error: MaxRetriesError]>())
      queue.once('stalled', (...args) => same<typeof args, [id: string]>())
      queue.on('fenced', (...args) => same<typeof args, [id: string, attempt: number, verdict: Refusal]>())
      queue.on('rate_limited', (...args) =>
        same<typeof args, [id: string, retryAfterMs: number, scope: RateLimitScope]>(),
      )
      queue.on('released', (...args) => same<typeof args, [id: string]>())
      queue.on('requeued', (...args) => same<typeof args, [id: string]>())
      queue.off('cancelled', (...args) => same<typeof args, [id: string]>())
      same<
        keyof QueueEvents,
        | 'started'
        | 'stopped'
        | 'error'
        | 'enqueued'
        | 'completed'
        | 'failing'
        | 'failed'
        | 'stalled'
        | 'fenced'
        | 'rate_limited'
        | 'released'
        | 'requeued'
        | 'cancelled'
      >()
      const reaper = new Reaper({ storage, name: ['default', 'mail'] })
      reaper.on('error', (...args) => same<typeof args, [error: Error]>())
      reaper.on('stalled', (...args) => same<typeof args, [id: string]>())
      reaper.on('leadershipAcquired', (...args) => same<typeof args, []>())
      reaper.on('leadershipLost', (...args) => same<typeof args, []>())
      const events = queue.events({ signal: AbortSignal.abort() })
      same<typeof events, EventStream>()
      for await (const event of events) {
        same<typeof event, QueueEvent>()
        if (event.event === 'gap') same<typeof event, { readonly event: 'gap'; readonly at: number }>()
        else same<typeof event.id, string>()
      }
      await queue.stop()
    })

    test('what a config may be made of', async (t) => {
      const { storage } = await bench(t, driver)
      const backoffs: Backoff[] = [
        'none',
        'exponential',
        { type: 'fixed', delayMs: 1 },
        { type: 'exponential' },
        { type: 'exponential', delayMs: 1, factor: 2, maxDelayMs: 3, jitter: 0 },
        (attempt, error) => attempt * error.message.length,
      ]
      const loggers: Logger[] = [console, {}, { error: (data: object, message: string) => void [data, message] }]
      const hook = (context: AfterExecutionContext<Mail, number>): void => {
        context.ttl = 5
        context.result = 1
        context.error = new Error('changed')
      }
      for (const backoff of backoffs) {
        for (const logger of loggers) {
          const config: QueueConfig<Mail, number> = { storage, backoff, logger, afterExecution: hook, name: undefined }
          new Queue(config).execute(handler)
        }
      }
      const serde: Serde<Mail> = new JsonSerde<Mail>()
      const anyStorage: Storage = storage
      const queue = new Queue({ storage: anyStorage, payloadSerde: serde })
      same<Parameters<typeof queue.enqueue>[1], Mail>()
    })

    test('what must not compile does not', () => assert.equal(typeof mustNotCompile, 'function'))
  })
}

/** Never called: each line that is marked must not compile. */
function mustNotCompile(storage: Storage, job: Job<Mail>, context: AfterExecutionContext<Mail, number>): unknown {
  const queue = new Queue<Mail, number>({ storage })
  return [
    // @ts-expect-error a payload of another type
    queue.enqueue('a', 'ada'),
    // @ts-expect-error a payload without a field
    queue.enqueueAndWait('a', {}),
    // @ts-expect-error no payload
    queue.enqueue('a'),
    // @ts-expect-error an id that is no string
    queue.enqueue(5, { to: 'ada' }),
    // @ts-expect-error an unknown option
    queue.enqueue('a', { to: 'ada' }, { delay: 5 }),
    // @ts-expect-error an option of enqueueAndWait
    queue.enqueue('a', { to: 'ada' }, { timeout: 5 }),
    // @ts-expect-error an option of another type
    queue.enqueueAndWait('a', { to: 'ada' }, { timeout: '5s' }),
    // @ts-expect-error an unknown option
    queue.cancel('a', { now: true }),
    // @ts-expect-error every item has an answer
    queue.enqueueMany([{ id: 'a', payload: { to: 'ada' }, onDuplicate: 'reject' }]),
    // @ts-expect-error an item without payload
    queue.enqueueMany([{ id: 'a' }]),
    // @ts-expect-error a group without a key
    queue.enqueue('a', { to: 'ada' }, { group: { ordered: true } }),
    // @ts-expect-error a rate without an interval
    new Queue<Mail>({ storage, limits: { rate: { limit: 5 } } }),
    // @ts-expect-error an unknown limit
    queue.setLimits({ maximum: 5 }),
    // @ts-expect-error a limit of the type for a group
    queue.setLimits({ concurrency: 5 }, { group: 'g' }),
    // @ts-expect-error a deduplication without key
    queue.enqueue('a', { to: 'ada' }, { deduplication: { mode: 'simple' } }),
    // @ts-expect-error a field of another type
    new Queue<Mail>({ storage, searchFields: { total: 'integer' } }),
    // @ts-expect-error a function of another payload
    new Queue<Mail>({ storage, search: (payload: { from: string }) => payload }),
    // @ts-expect-error an unknown option
    queue.stop({ timeoutMs: 5 }),
    // @ts-expect-error an unknown option
    new Queue({ storage, retries: 5 }),
    // @ts-expect-error no storage
    new Queue({}),
    // @ts-expect-error a fixed backoff without its delay
    new Queue({ storage, backoff: { type: 'fixed' } }),
    // @ts-expect-error a serde of another payload
    new Queue<Mail>({ storage, payloadSerde: new JsonSerde<number>() }),
    // @ts-expect-error a storage without transactions takes none
    new Queue({ storage: new MemoryStorage() }).enqueue('a', 1, { tx: {} }),
    // @ts-expect-error of another kind than the storage's
    new Queue<Mail, void, { readonly sql: string }>({ storage }).enqueue('a', { to: 'ada' }, { tx: 5 }),
    // @ts-expect-error no age
    new Queue({ storage, retention: { completed: {} } }),
    // @ts-expect-error a result of another type
    queue.execute(() => 'text'),
    // @ts-expect-error a promise of another type
    queue.execute(async () => 'text'),
    // @ts-expect-error a result of another type, called back
    queue.execute((_, callback) => callback(null, 'text')),
    // @ts-expect-error an event that is never emitted
    queue.on('finished', () => {}),
    // @ts-expect-error an argument of another type
    queue.on('completed', (_id: string, result: string) => result),
    // @ts-expect-error an argument too many
    queue.on('enqueued', (_id: string, payload: Mail) => payload),
    // @ts-expect-error an unknown option
    new Reaper({ storage, interval: 5 }),
    // @ts-expect-error an election that is neither on nor off
    new Reaper({ storage, leaderElection: {} }),
    // @ts-expect-error a job is for reading
    (job.payload = { to: 'bob' }),
    // @ts-expect-error only ttl, result and error may be changed
    (context.attempts = 5),
  ]
}
