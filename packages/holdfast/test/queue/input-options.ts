// Objects of options: unknown keys, and values that are no object.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryStorage, Queue, Reaper, type Storage } from 'holdfast'
import type { TestDriver } from './driver.ts'
import { rejectsInput, throwsInput, watched } from './watched.ts'

type Give = (queue: Queue<unknown, unknown>, storage: Storage, options: never) => unknown

/** Every object of options: how it is given, a key that is nearly right, and the one that is meant. */
const methods: Record<string, { give: Give; typo: string; meant: string }> = {
  enqueue: { give: (queue, _, options) => queue.enqueue('new', 1, options), typo: 'delay', meant: 'delayMs' },
  enqueueAndWait: {
    give: (queue, _, options) => queue.enqueueAndWait('new', 1, options),
    typo: 'timeOut',
    meant: 'timeout',
  },
  cancel: { give: (queue, _, options) => queue.cancel('there', options), typo: 'abrt', meant: 'abort' },
  enqueueMany: { give: (queue, _, options) => queue.enqueueMany([], options), typo: 'tz', meant: 'tx' },
  reschedule: { give: (queue, _, options) => queue.reschedule('there', options), typo: 'runat', meant: 'runAt' },
  logs: { give: (queue, _, options) => queue.logs('there', options), typo: 'atempt', meant: 'attempt' },
  stop: { give: (queue, _, options) => queue.stop(options), typo: 'timeoutMs', meant: 'timeout' },
}

const constructors: Record<string, { give: Give; typo: string; meant: string }> = {
  Queue: {
    give: (_, storage, options) => new Queue({ storage, ...(options as object) }),
    typo: 'visibiltyTimeout',
    meant: 'visibilityTimeout',
  },
  MemoryStorage: {
    give: (_, __, options) => new MemoryStorage(options as object),
    typo: 'callTimeout',
    meant: 'callTimeoutMs',
  },
  'backoff, exponential': {
    give: (_, storage, options) => new Queue({ storage, backoff: { type: 'exponential', ...(options as object) } }),
    typo: 'maxDelay',
    meant: 'maxDelayMs',
  },
  'backoff, fixed': {
    give: (_, storage, options) =>
      new Queue({ storage, backoff: { type: 'fixed', delayMs: 1, ...(options as object) } }),
    typo: 'delayms',
    meant: 'delayMs',
  },
  Reaper: {
    give: (_, storage, options) => new Reaper({ storage, ...(options as object) }),
    typo: 'checkInterva',
    meant: 'checkInterval',
  },
  leaderElection: {
    give: (_, storage, options) => new Reaper({ storage, leaderElection: { enabled: true, ...(options as object) } }),
    typo: 'lockTtl',
    meant: 'lockTTL',
  },
  events: { give: (queue, _, options) => queue.events(options), typo: 'sginal', meant: 'signal' },
}

const queueKeys =
  'name face payloadSerde resultSerde resultTTL retention maxAttempts maxRetries maxPayloadBytes maxResultBytes workerId concurrency ' +
  'visibilityTimeout timeoutMs leaseMs backoff pollMs blockTimeout processingQueueTTL afterExecution searchFields search logger clock'
const reaperKeys = 'name face timeoutMs visibilityTimeout checkInterval logger clock'

/** Each of these keys, undefined. */
const nothingOf = (keys: string): Record<string, undefined> =>
  Object.fromEntries(keys.split(' ').map((key) => [key, undefined]))

const noObjects = [null, 0, 5, '', 'text', false, true, [], () => {}]

export function inputOptionTests(driver: TestDriver): void {
  describe(`${driver.name}: options`, () => {
    for (const [where, { give, typo, meant }] of Object.entries({ ...methods, ...constructors })) {
      test(`[Q5.11] [trap 18] ${where}: a key that is not known is named, and the nearest one`, async (t) => {
        const { queue, storage, unmoved } = await watched(t, driver)
        await queue.start()
        await unmoved(async () => {
          for (const key of [typo, 'toString', '__proto__', '']) {
            const options = JSON.parse(`{${JSON.stringify(key)}:1}`) as never
            const call = (): unknown => give(queue, storage, options)
            if (where in methods) await rejectsInput('options', key, call)
            else throwsInput('options', key, call)
            await assert.rejects(
              async () => call(),
              ({ message }: Error) => {
                assert.ok(message.endsWith(`got ${JSON.stringify(key)}`), message)
                if (key === typo) assert.ok(message.includes(`did you mean ${meant}?`), message)
                return true
              },
            )
          }
        })
      })
    }

    test('[Q5.11] also when what is given for it is undefined', async (t) => {
      const { queue, unmoved } = await watched(t, driver)
      await unmoved(() =>
        rejectsInput('options', 'prio', () => queue.enqueue('new', 1, { prio: undefined } as unknown as object)),
      )
    })

    test('[Q5.11] [trap 18] what is no object is no options', async (t) => {
      const { queue, unmoved } = await watched(t, driver)
      await queue.start()
      await unmoved(async () => {
        for (const value of noObjects) {
          const options = value as never
          await rejectsInput('options', value, () => queue.enqueue('new', 1, options))
          await rejectsInput('options', value, () => queue.enqueueAndWait('new', 1, options))
          await rejectsInput('options', value, () => queue.cancel('there', options))
          await rejectsInput('options', value, () => queue.stop(options))
          throwsInput('options', value, () => queue.events(options))
          throwsInput('options', value, () => new Queue(options))
          throwsInput('options', value, () => new Reaper(options))
        }
        throwsInput('storage', undefined, () => new Queue(undefined as never))
        throwsInput('storage', undefined, () => new Reaper(undefined as never))
      })
    })

    test('[Q5.11] [trap 18] flags are true or false, signals are signals', async (t) => {
      const { queue, unmoved } = await watched(t, driver)
      await unmoved(async () => {
        for (const abort of [1, 0, 'true', null]) {
          await rejectsInput('abort', abort, () => queue.cancel('there', { abort: abort as never }))
        }
        for (const value of [null, 5, {}, new AbortController(), { aborted: false }]) {
          const signal = value as AbortSignal
          await rejectsInput('signal', value, () => queue.enqueueAndWait('new', 1, { signal }))
          throwsInput('signal', value, () => queue.events({ signal }))
        }
      })
    })

    test('[Q5.11] a known key that is undefined is absent', async (t) => {
      const { queue, storage, another } = await watched(t, driver)
      const worker = another(nothingOf(queueKeys))
      assert.equal(worker.name, 'default')
      worker.execute(() => 'done')
      await worker.start()
      const none = nothingOf(
        'maxAttempts resultTTL delayMs runAt priority timeoutMs expiresInMs group deduplication search onDuplicate',
      )
      assert.deepEqual(await queue.enqueue('new', 1, { ...none, delayMs: 60_000 }), { status: 'queued' })
      const status = await queue.getStatus('new')
      assert.equal(status?.maxAttempts, 3)
      assert.deepEqual(await queue.cancel('new', nothingOf('abort force reason waitMs')), { status: 'cancelled' })
      const waiting = queue.enqueueAndWait('other', 1, { ...none, timeout: undefined, signal: undefined })
      assert.equal(await waiting, 'done')
      queue.events({ signal: undefined })
      await worker.stop({ timeout: undefined })
      const leaderElection = { enabled: true, ...nothingOf('lockTTL renewalInterval acquireRetryInterval') }
      const reaper = new Reaper({ ...nothingOf(reaperKeys), storage, leaderElection })
      assert.equal(reaper.isLeader, false)
    })
  })
}
