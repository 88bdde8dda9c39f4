// Events, logger, log and notifier (specs/chains.md 3.6, 3.10).

import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, test } from 'node:test'
import { defineJobTypes, type LogEntry, type Notifier } from 'holdfast/chains'
import { type Signal, type Topic } from 'holdfast/storage'
import { gate, sleep, until } from '../queue/driver.ts'
import { chainBench, wait } from './bench.ts'
import type { ChainDriver } from './driver.ts'

const types = defineJobTypes<{
  part: { entry: true; input: number; output: number }
  whole: {
    entry: true
    input: null
    output: number
    continueWith: { typeName: 'rest' }
    blockers: { typeName: 'part' }[]
  }
  rest: { input: null; output: number }
}>()

/** Shortest run of a handler. */
const restMs = 20

const gaugesOf = (part: number, idle: number) => ({
  'jobTypeProcessing part': part,
  'jobTypeProcessing rest': 0,
  'jobTypeIdle part': idle,
  'jobTypeIdle rest': idle,
})

const boom = (): never => {
  throw new Error('listener')
}

const broken = async (): Promise<never> => {
  throw new Error('no broker')
}

export function observerTests(driver: ChainDriver): void {
  describe('events', () => {
    test('of one successful last job, in order', async (t) => {
      const { client, work, events } = await chainBench(t, driver, types)
      const whole = await client.startJobChain({
        typeName: 'whole',
        input: null,
        startBlockers: async ({ startJobChain }) => [await startJobChain({ typeName: 'part', input: 1 })],
      })
      assert.deepEqual(
        events.map(({ name, data }) => `${name} ${data.typeName}`),
        ['jobChainCreated whole', 'jobCreated whole', 'jobBlocked whole', 'jobChainCreated part', 'jobCreated part'],
      )
      events.length = 0
      const stop = await work(
        {
          part: { process: async ({ job, complete }) => complete(job.input) },
          whole: {
            process: async ({ complete }) => {
              await sleep(restMs + 1)
              return complete(async ({ continueWith }) => continueWith({ typeName: 'rest', input: null }))
            },
          },
          rest: { process: async ({ complete }) => complete(5) },
        },
        { workerId: 'w' },
      )
      await client.waitForJobChainCompletion(whole, wait)
      await stop()
      assert.deepEqual(
        events.map(({ name, data }) => (data.typeName ? `${name} ${data.typeName}` : name)),
        [
          'workerStarted',
          'jobAttemptStarted part',
          'jobAttemptCompleted part',
          'jobCompleted part',
          'jobChainCompleted part',
          'jobUnblocked whole',
          'jobAttemptStarted whole',
          'jobAttemptCompleted whole',
          'jobCompleted whole',
          'jobCreated rest',
          'jobAttemptStarted rest',
          'jobAttemptCompleted rest',
          'jobCompleted rest',
          'jobChainCompleted whole',
          'workerStopping',
          'workerStopped',
        ],
      )
      const last = events.findLast(({ name }) => name === 'jobCompleted')!.data
      assert.deepEqual([last.chainId, last.chainTypeName, last.workerId, last.attempt], [whole.id, 'whole', 'w', 1])
      assert.ok((last.durationMs as number) >= 0)
      const durationOf = (name: string, id: unknown) =>
        events.find((event) => event.name === name && event.data.id === id)!.data.durationMs as number
      const rest = durationOf('jobCompleted', last.id)
      assert.ok(durationOf('jobChainCompleted', whole.id) >= rest + restMs, 'from the start of its first job')
      assert.ok(durationOf('jobAttemptCompleted', whole.id) >= restMs, 'of an attempt that continued, too')
      assert.equal(
        events.find(({ name, data }) => name === 'jobChainCompleted' && data.id === whole.id)!.data.output,
        5,
      )
    })

    test('of failures, duplicates, triggers, deletions and refusals', async (t) => {
      const { client, work, told } = await chainBench(t, driver, types)
      const thrown = new Error('boom')
      await work({
        part: {
          process: async () => {
            throw thrown
          },
          retryConfig: { maxAttempts: 2 },
        },
      })
      const part = await client.startJobChain({ typeName: 'part', input: 1, deduplication: { key: 'k' } })
      await assert.rejects(client.waitForJobChainCompletion(part, wait))
      await until(() => told('jobChainFailed').length === 1)
      assert.equal(told('jobAttemptFailed').length, 2)
      assert.ok(told('jobAttemptFailed').every(({ error }) => error === thrown))
      assert.equal(told('jobFailed')[0]!.error, thrown)
      const later = { typeName: 'part', input: 1, id: 'later', schedule: { afterMs: 3_600_000 } } as const
      await client.startJobChain(later)
      await client.startJobChain(later)
      assert.deepEqual(told('jobDeduplicated'), [{ typeName: 'part', id: 'later', by: 'id' }])
      await client.cancelJobChain({ typeName: 'part', id: 'later', reason: 'r' })
      assert.deepEqual(told('jobChainCancelled'), [{ typeName: 'part', id: 'later', reason: 'r' }])
      await client.triggerJob({ typeName: 'part', id: 'later' })
      assert.equal(told('jobTriggered').length, 1)
      await assert.rejects(client.waitForJobChainCompletion({ typeName: 'part', id: 'later' }, wait))
      await client.deleteJobChains({ rootChainIds: [{ typeName: 'part', id: 'later' }] })
      assert.deepEqual(told('jobChainDeleted'), [{ typeName: 'part', id: 'later' }])
      const wrong = client.startJobChain({
        typeName: 'whole',
        input: null,
        startBlockers: async ({ startJobChain }) => {
          await startJobChain({ typeName: 'part', input: 1 })
          return []
        },
      })
      await assert.rejects(wrong)
      assert.equal(told('validationFailed').length, 1)
    })

    test('jobs that fail with a blocker are told with their own chains', async (t) => {
      const { client, work, told } = await chainBench(t, driver, types)
      const hour = { schedule: { afterMs: 3_600_000 } } as const
      const wholeOn = (blocker: { typeName: 'part'; id: string }) =>
        client.startJobChain({ typeName: 'whole', input: null, blockers: [blocker] })
      const cancelled = await client.startJobChain({ typeName: 'part', input: 1, ...hour })
      const one = await wholeOn(cancelled)
      assert.deepEqual(await client.cancelJobChain(cancelled), { verdict: 'cancelled' })
      assert.deepEqual(
        told('jobChainFailed').map(({ typeName, id, reason }) => [typeName, id, reason]),
        [['whole', one.id, 'blocker_failed']],
      )
      assert.equal((told('jobFailed')[0]!.error as { code: string }).code, 'BLOCKER_FAILED')
      // Cancelled again, given as it was read: no further event.
      const read = await client.getJobChain(cancelled)
      assert.deepEqual(await client.cancelJobChain(read!), { verdict: 'cancelled' })
      const failed = await client.startJobChain({ typeName: 'part', input: 2 })
      const two = await wholeOn(failed)
      await work({ part: { process: broken, retryConfig: { maxAttempts: 1 } } })
      await assert.rejects(client.waitForJobChainCompletion(two, wait), { code: 'CHAIN_FAILED' })
      await until(() => told('jobChainFailed').length === 3)
      assert.deepEqual(
        told('jobChainFailed').map(({ id }) => id),
        [one.id, failed.id, two.id],
      )
      assert.ok((told('jobAttemptFailed')[0]!.durationMs as number) >= 0)
    })

    test('a job whose last attempt was lost is told with its chain, and so are its dependents', async (t) => {
      const { client, work, told, line } = await chainBench(t, driver, types)
      const part = await client.startJobChain({ typeName: 'part', input: 1 })
      const whole = await client.startJobChain({ typeName: 'whole', input: null, blockers: [part] })
      await line.storage.claim({ worker: 'dead', slots: 1, types: [{ type: 'chain.part', leaseMs: 50 }] })
      await sleep(60)
      await work({ part: { process: broken, retryConfig: { maxAttempts: 1 } } })
      await until(() => told('jobChainFailed').length === 2)
      assert.deepEqual(
        told('jobChainFailed')
          .map(({ id, reason }) => [id, reason])
          .toSorted(),
        [
          [part.id, 'stalled'],
          [whole.id, 'blocker_failed'],
        ].toSorted(),
      )
    })

    test('gauges: idle slots and running jobs of each type', async (t) => {
      const { client, work, gauges, events } = await chainBench(t, driver, types)
      const open = gate()
      const stop = await work(
        {
          part: {
            process: async ({ job, complete }) => {
              await open.promise
              return complete(job.input)
            },
          },
          rest: { process: async ({ complete }) => complete(5) },
        },
        { workerId: 'w', concurrency: 3 },
      )
      const now = (): Record<string, unknown> =>
        Object.fromEntries(gauges.map(({ name, data }) => [`${name} ${data.typeName}`, data.value]))
      assert.deepEqual(now(), gaugesOf(0, 3))
      const chains = await client.startJobChains({ items: [1, 2].map((input) => ({ typeName: 'part', input })) })
      await until(() => now()['jobTypeProcessing part'] === 2)
      assert.deepEqual(now(), gaugesOf(2, 1))
      open.resolve()
      for (const chain of chains) await client.waitForJobChainCompletion(chain, wait)
      await until(() => now()['jobTypeIdle part'] === 3)
      assert.deepEqual(now(), gaugesOf(0, 3))
      await stop()
      assert.deepEqual(now(), gaugesOf(0, 0))
      assert.ok(gauges.every(({ data }) => data.workerId === 'w') && events.length > 0)
    })

    test('the log has one entry per event; errors of listeners change nothing; the channel has the events too', async (t) => {
      const { another, work } = await chainBench(t, driver, types)
      const entries: LogEntry[] = []
      const published: { name: string }[] = []
      const listener = (event: unknown): void => void published.push(event as { name: string })
      subscribe('holdfast', listener)
      t.after(() => unsubscribe('holdfast', listener))
      const client = await another({ observer: { jobCreated: boom }, log: (entry) => void entries.push(entry) })
      await work(
        { part: { process: async ({ job, complete }) => complete(job.input) } },
        { observer: { jobAttemptStarted: boom, jobCompleted: boom }, log: boom },
      )
      const part = await client.startJobChain({ typeName: 'part', input: 1 })
      await client.waitForJobChainCompletion(part, wait)
      assert.deepEqual(
        entries.map(({ event, level, message }) => [event, level, message]),
        [
          ['jobChainCreated', 'debug', `job chain created: part ${part.id}`],
          ['jobCreated', 'debug', `job created: part ${part.id}`],
        ],
      )
      await until(() => published.some(({ name }) => name === 'jobChainCompleted'))
      for (const name of ['jobChainCreated', 'jobAttemptStarted', 'jobCompleted', 'completed', 'storage_call']) {
        assert.ok(
          published.some((event) => event.name === name),
          name,
        )
      }
    })
  })

  describe('a logger', () => {
    test('receives start, stop, failures and stalls at their levels, and no outputs', async (t) => {
      const { client, work, line } = await chainBench(t, driver, types)
      const lines: { level: string; data: Record<string, unknown>; message: string }[] = []
      const at = (level: string) => (data: object, message: string) =>
        void lines.push({ level, data: data as Record<string, unknown>, message })
      const logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
      const dead = await client.startJobChain({ typeName: 'part', input: 1 })
      await line.storage.claim({ worker: 'dead', slots: 1, types: [{ type: 'chain.part', leaseMs: 50 }] })
      await sleep(60)
      const thrown = new Error('boom')
      const stop = await work(
        {
          part: {
            process: async ({ job, complete }) => {
              if (job.input === 2) throw thrown
              return complete(job.input)
            },
          },
        },
        { logger, workerId: 'w', maxAttempts: 2, jobTypeProcessing: { pollIntervalMs: 50 } },
      )
      await client.waitForJobChainCompletion(dead, wait)
      const failing = await client.startJobChain({ typeName: 'part', input: 2 })
      await assert.rejects(client.waitForJobChainCompletion(failing, wait))
      // The client may know of it before the worker has logged it.
      await until(() => lines.some(({ data }) => data.event === 'jobChainFailed'))
      await stop()
      const found = lines.filter(({ level }) => level !== 'debug').map(({ level, message }) => `${level} ${message}`)
      assert.deepEqual(found, [
        'info worker started: w',
        `warn job stalled: part ${dead.id}`,
        `warn job attempt failed: part ${failing.id}: boom`,
        `warn job attempt failed: part ${failing.id}: boom`,
        `error job failed: part ${failing.id}: boom`,
        `error job chain failed: part ${failing.id}: boom`,
        'info worker stopping: w',
        'info worker stopped: w',
      ])
      const failed = lines.find(({ level }) => level === 'error')!
      assert.partialDeepStrictEqual(failed.data, { event: 'jobFailed', typeName: 'part', id: failing.id, err: thrown })
      const completed = lines.find(({ data }) => data.event === 'jobChainCompleted')!
      assert.deepEqual([completed.level, 'output' in completed.data], ['debug', false])
    })
  })

  describe('a notifier of the user’s', () => {
    test('carries the hints: it wakes a worker, ends a wait, and aborts a handler', async (t) => {
      const bus = new Bus()
      const { client, work, line } = await chainBench(t, driver, types, { notifier: bus })
      const begun = gate()
      const waiting = gate()
      const aborted = gate<unknown>()
      await work(
        {
          part: {
            process: async ({ job, signal, complete }) => {
              if (job.input === 1) {
                await waiting.promise
                return complete(1)
              }
              begun.resolve()
              await new Promise((resolve) => signal.addEventListener('abort', resolve))
              aborted.resolve(signal.reason!.reason)
              return complete(2)
            },
          },
        },
        { notifier: bus, jobTypeProcessing: { pollIntervalMs: Infinity } },
      )
      const one = await client.startJobChain({ typeName: 'part', input: 1 })
      const done = client.waitForJobChainCompletion(one, { timeoutMs: 9_000, pollIntervalMs: 60_000 })
      await until(() => line.count('get') > 0)
      await sleep(20)
      waiting.resolve()
      const before = performance.now()
      await done
      assert.ok(performance.now() - before < 8_000, 'not by the last look before the timeout')
      const two = await client.startJobChain({ typeName: 'part', input: 2 })
      await begun.promise
      await client.cancelJobChain({ typeName: 'part', id: two.id })
      assert.equal(await aborted.promise, 'cancelled')
      assert.equal(line.count('listen'), 0)
      // Topics and signals have the names of job types.
      assert.deepEqual([...bus.types], ['part'])
    })

    test('[chains trap 27] if every call of it fails, the fallback poll does everything', async (t) => {
      const notifier: Notifier = { notify: broken, listen: broken, close: broken }
      const { client, work, told } = await chainBench(t, driver, types, { notifier })
      await work(
        { part: { process: async ({ job, complete }) => complete(job.input) } },
        { notifier, jobTypeProcessing: { pollIntervalMs: 20 } },
      )
      const items = [1, 2, 3].map((input) => ({ typeName: 'part' as const, input }))
      const chains = await client.startJobChains({ items })
      for (const chain of chains) {
        await client.waitForJobChainCompletion(chain, { timeoutMs: 9_000, pollIntervalMs: 20 })
      }
      assert.ok(told('notifierError').length >= 2)
      assert.deepEqual(told('jobAttemptFailed'), [])
    })
  })
}

/** A notifier in this process. */
class Bus implements Notifier {
  /** Types of all topics and signals. */
  readonly types = new Set<string>()
  readonly #listeners = new Set<{ topics: readonly Topic[]; onSignal: (signal: Signal) => void }>()

  async notify(signals: readonly Signal[]): Promise<void> {
    for (const signal of signals) {
      this.types.add(signal.type)
      for (const { topics, onSignal } of this.#listeners) {
        if (topics.some(({ kind, type }) => kind === signal.kind && type === signal.type)) onSignal(signal)
      }
    }
  }

  async listen(topics: readonly Topic[], onSignal: (signal: Signal) => void): Promise<() => Promise<void>> {
    for (const { type } of topics) this.types.add(type)
    const listener = { topics, onSignal }
    this.#listeners.add(listener)
    return async () => void this.#listeners.delete(listener)
  }

  async close(): Promise<void> {
    this.#listeners.clear()
  }
}
