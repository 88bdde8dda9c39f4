// Starting and stopping a worker (specs/chains.md 3.9).

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Storage } from 'holdfast'
import { createInProcessWorker, defineJobTypes, type InProcessWorkerOptions } from 'holdfast/chains'
import { gate, until } from '../queue/driver.ts'
import { chainBench, wait } from './bench.ts'
import type { ChainDriver } from './driver.ts'

const types = defineJobTypes<{ step: { entry: true; input: number; output: number } }>()

export function stopTests(driver: ChainDriver): void {
  describe('stopping', () => {
    test('[chains trap 6] a stop in the middle of a backlog: no more handlers start than fill the slots', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const count = driver.name === 'file' ? 300 : 1_000
      const items = Array.from({ length: count }, (_, input) => ({ typeName: 'step' as const, input }))
      await client.startJobChains({ items })
      let begun = 0
      const reached = gate()
      const stop = await work(
        {
          step: {
            process: async ({ job, complete }) => {
              if (++begun === 50) reached.resolve()
              return complete(job.input)
            },
          },
        },
        { concurrency: 10 },
      )
      await reached.promise
      const at = begun
      await stop()
      assert.ok(begun <= at + 10, `${begun} began, ${at} before the stop`)
      const ended = begun
      const { items: left } = await client.listJobs({ filter: { state: ['processing'] } })
      assert.deepEqual([left, begun], [[], ended])
    })

    test('[chains trap 6] a handler that ignores its signal: released at the deadline, and run by another worker', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const running = gate()
      const reasons: unknown[] = []
      const stop = await work({
        step: {
          process: async ({ signal }) => {
            signal.addEventListener('abort', () => reasons.push(signal.reason!.reason))
            running.resolve()
            return new Promise(() => {})
          },
        },
      })
      const chain = await client.startJobChain({ typeName: 'step', input: 1 })
      await running.promise
      const before = performance.now()
      const stopped = stop({ graceMs: 30, deadlineMs: 60 })
      assert.equal(stop(), stopped)
      await stopped
      assert.ok(performance.now() - before < 5_000)
      assert.deepEqual(reasons, ['stopping'])
      const job = await client.getJob({ typeName: 'step', id: chain.id })
      assert.deepEqual([job!.state, job!.failures, job!.attempt], ['queued', 0, 1])
      await work({ step: { process: async ({ job: again, complete }) => complete(again.attempt) } })
      assert.equal((await client.waitForJobChainCompletion(chain, wait)).output, 2)
    })

    test('handlers go on during the grace period; what they complete counts', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const running = gate()
      const finish = gate()
      const stop = await work({
        step: {
          process: async ({ complete }) => {
            running.resolve()
            await finish.promise
            return complete(7)
          },
        },
      })
      const chain = await client.startJobChain({ typeName: 'step', input: 1 })
      await running.promise
      const stopped = stop()
      finish.resolve()
      await stopped
      const done = await client.getJobChain(chain)
      assert.ok(done!.state === 'completed' && done!.output === 7)
    })

    test('a handler that throws because the worker stops has not failed', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const running = gate()
      const stop = await work({
        step: {
          process: async ({ signal }) => {
            running.resolve()
            await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
            throw new Error('never')
          },
        },
      })
      const chain = await client.startJobChain({ typeName: 'step', input: 1 })
      await running.promise
      await stop({ graceMs: 0, deadlineMs: 5_000 })
      const job = await client.getJob({ typeName: 'step', id: chain.id })
      assert.deepEqual([job!.state, job!.failures], ['queued', 0])
    })

    test('a worker may be started again; connections are given back', async (t) => {
      const { client, line, storage } = await chainBench(t, driver, types)
      const before = line.connections
      const worker = await createInProcessWorker<Types, unknown>({
        storage: line.storage,
        jobTypeRegistry: types,
        jobTypeProcessors: { step: { process: async ({ job, complete }) => complete(job.input) } },
        jobTypeProcessing: { pollIntervalMs: 50 },
      })
      for (let round = 0; round < 3; round++) {
        const stop = await worker.start()
        assert.equal(line.connections, before + 1)
        assert.equal(await worker.start(), stop)
        const chain = await client.startJobChain({ typeName: 'step', input: round })
        assert.equal((await client.waitForJobChainCompletion(chain, wait)).output, round)
        await stop()
        assert.equal(line.connections, before)
      }
      assert.ok(storage)
    })

    test('start() retries an unavailable storage until it is ready; stop() ends a start', async (t) => {
      const { client, line } = await chainBench(t, driver, types)
      const before = line.connections
      const errors: unknown[] = []
      const worker = await workerOn(line.storage, { observer: { storageError: ({ error }) => errors.push(error) } })
      let failures = 0
      line.on('connect', async (apply, call) => {
        if (++failures <= 3) throw Object.assign(new Error(`no server, call ${call.number}`), { transient: true })
        return apply()
      })
      const stop = await worker.start()
      assert.ok(failures > 3)
      const chain = await client.startJobChain({ typeName: 'step', input: 1 })
      assert.equal((await client.waitForJobChainCompletion(chain, wait)).output, 1)
      await stop()

      line.on('connect', async () => {
        throw Object.assign(new Error('no server'), { transient: true })
      })
      const ready = worker.start()
      await until(() => line.calls.at(-1)!.verb === 'connect')
      await worker.stop({ graceMs: 0 })
      await ready
      assert.equal(line.connections, before)
      assert.ok(errors.length >= 1)

      line.on('connect', async () => {
        throw new Error('wrong password')
      })
      await assert.rejects(worker.start(), { code: 'STORAGE_ERROR', message: /wrong password/ })
      line.on('connect', undefined)
      await (
        await worker.start()
      )()
      assert.equal(line.connections, before)
    })

    test('run() resolves when it was stopped: by its signal, by stop(), or at the end of a scope', async (t) => {
      const { client, line } = await chainBench(t, driver, types)
      const before = line.connections
      const worker = await workerOn(line.storage)
      const end = new AbortController()
      const run = worker.run({ signal: end.signal, graceMs: 0 })
      const chain = await client.startJobChain({ typeName: 'step', input: 1 })
      await client.waitForJobChainCompletion(chain, wait)
      end.abort()
      await run
      assert.equal(line.connections, before)

      const again = worker.run()
      await worker.start()
      await Promise.all([worker.stop(), again])
      assert.equal(line.connections, before)
      await worker.run({ signal: end.signal })
      {
        await using scoped = await workerOn(line.storage)
        await scoped.start()
        assert.equal(line.connections, before + 1)
      }
      assert.equal(line.connections, before)
      await assert.rejects(worker.run({ graceMs: -1 }), { code: 'INVALID_ARGUMENT' })
      await assert.rejects(worker.run({ signal: 5 as never }), { code: 'INVALID_ARGUMENT' })
    })

    test('the function of a start stops that start, and no later one', async (t) => {
      const { line } = await chainBench(t, driver, types)
      const before = line.connections
      const worker = await workerOn(line.storage)
      const first = await worker.start()
      await worker.stop()
      const second = await worker.start()
      await first()
      assert.equal(line.connections, before + 1)
      await second()
      assert.equal(line.connections, before)
    })

    test('nextJobDelayMs: a slot rests between two jobs', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const at: number[] = []
      await work(
        {
          step: {
            process: async ({ job, complete }) => {
              at.push(performance.now())
              return complete(job.input)
            },
          },
        },
        { jobTypeProcessing: { nextJobDelayMs: 60 } },
      )
      await client.startJobChains({ items: [1, 2, 3].map((input) => ({ typeName: 'step' as const, input })) })
      await until(() => at.length === 3)
      assert.ok(at[1]! - at[0]! >= 59 && at[2]! - at[1]! >= 59)
    })
  })
}

const workerOn = (storage: Storage, options: Partial<InProcessWorkerOptions<Types, unknown>> = {}) =>
  createInProcessWorker<Types, unknown>({
    storage,
    jobTypeRegistry: types,
    pollMs: 50,
    jobTypeProcessors: { step: { process: async ({ job, complete }) => complete(job.input) } },
    ...options,
  })

type Types = typeof types extends import('holdfast/chains').JobTypeRegistry<infer T> ? T : never
