// One attempt: prepare, complete, continueWith, and its outcome (specs/chains.md 3.3, 3.5).

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { UnrecoverableError } from 'holdfast'
import { defineJobTypes, fail, failJob, rescheduleJob, snooze } from 'holdfast/chains'
import { gate, until } from '../queue/driver.ts'
import { chainBench, wait } from './bench.ts'
import type { ChainDriver } from './driver.ts'

const types = defineJobTypes<{
  step: { entry: true; input: string; output: string; continueWith: { typeName: 'next' } }
  next: { input: string; output: string }
  after: { entry: true; input: null; output: null; blockers: [{ typeName: 'step' }] }
}>()

const code = (expected: string) => (error: unknown) => (error as { code?: string }).code === expected

export function attemptTests(driver: ChainDriver): void {
  describe('an attempt', () => {
    test('each of prepare, complete and continueWith works once; the second call leaves the first intact', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      await work({
        step: {
          process: async ({ complete, prepare, job }) => {
            assert.equal(await prepare({ mode: 'staged' }, () => 5), 5)
            await assert.rejects(prepare({ mode: 'staged' }), code('PREPARE_TWICE'))
            const completion = await complete(async ({ continueWith }) => {
              const first = await continueWith({ typeName: 'next', input: `${job.input}!` })
              await assert.rejects(continueWith({ typeName: 'next', input: 'no' }), code('CONTINUE_TWICE'))
              return first
            })
            await assert.rejects(complete('no'), code('COMPLETE_TWICE'))
            await assert.rejects(prepare({ mode: 'staged' }), code('PREPARE_AFTER_COMPLETE'))
            return completion
          },
        },
        next: { process: async ({ job, complete }) => complete(job.input) },
      })
      const chain = await client.startJobChain({ typeName: 'step', input: 'x' })
      assert.equal((await client.waitForJobChainCompletion(chain, wait)).output, 'x!')
      const jobs = await client.listJobs({ filter: { chain } })
      assert.deepEqual(
        jobs.items.map(({ failures, attempt }) => [failures, attempt]),
        [
          [0, 1],
          [0, 1],
        ],
      )
    })

    test('lastAttemptAt is the start of the attempt before: null in the first, after a failure and a snooze its time', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const seen: [lastAttemptAt: number | null, startedAt: number][] = []
      await work({
        step: {
          process: async ({ job, complete }) => {
            const { items } = await client.listJobs({ filter: { typeName: ['step'] } })
            seen.push([job.lastAttemptAt, items[0]!.lastAttemptAt!])
            if (seen.length === 1) throw new Error('again')
            if (seen.length === 2) return snooze({ delayMs: 5 })
            return complete('done')
          },
        },
      })
      const chain = await client.startJobChain({ typeName: 'step', input: 'x' })
      await client.waitForJobChainCompletion(chain, wait)
      const starts = seen.map(([, startedAt]) => startedAt)
      assert.deepEqual(
        seen.map(([lastAttemptAt]) => lastAttemptAt),
        [null, starts[0], starts[1]],
      )
    })

    test('prepare() in both modes resolves with the result of its callback', async (t) => {
      const { client, work, storage } = await chainBench(t, driver, types)
      await work({
        step: {
          process: async ({ complete, prepare, job }) => {
            const mode = job.input as 'atomic' | 'staged'
            const given = await prepare({ mode }, async (context) => 'tx' in context)
            return complete(String(given))
          },
        },
      })
      for (const input of ['staged', 'atomic']) {
        const chain = await client.startJobChain({ typeName: 'step', input })
        const { output } = await client.waitForJobChainCompletion(chain, wait)
        assert.equal(output, String(storage.features.transactions))
      }
    })

    test('a handler that resolves without complete() fails the attempt', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      await work({ step: { process: async () => ({}) as never, retryConfig: { maxAttempts: 2 } } })
      const chain = await client.startJobChain({ typeName: 'step', input: 'x' })
      await assert.rejects(client.waitForJobChainCompletion(chain, wait), (error: { details: { code: string } }) => {
        return error.details.code === 'COMPLETE_NOT_CALLED'
      })
      assert.equal((await client.getJob({ typeName: 'step', id: chain.id }))!.failures, 2)
    })

    test('if the callback of complete() throws, the attempt fails, even if the handler catches the error', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      await work({
        step: {
          process: async ({ complete }) => {
            const completion = complete(async () => {
              throw new Error('in complete')
            })
            return completion.catch(() => ({}) as never)
          },
          retryConfig: { maxAttempts: 1 },
        },
      })
      const chain = await client.startJobChain({ typeName: 'step', input: 'x' })
      await assert.rejects(client.waitForJobChainCompletion(chain, wait), { message: /in complete$/ })
    })

    for (const mode of ['none', 'staged', 'atomic'] as const) {
      test(`[chains trap 21] a throw after complete() undoes it: ${mode}`, async (t) => {
        const { client, work } = await chainBench(t, driver, types)
        const failed = gate()
        await work({
          step: {
            process: async ({ job, complete, prepare }) => {
              if (job.attempt > 1) {
                await failed.promise
                return complete('second')
              }
              if (mode !== 'none') await prepare({ mode })
              await complete(async ({ continueWith }) => continueWith({ typeName: 'next', input: 'never' }))
              throw new Error('too late')
            },
          },
        })
        const chain = await client.startJobChain({ typeName: 'step', input: 'x' })
        const after = await client.startJobChain({ typeName: 'after', input: null, blockers: [chain] })
        await until(async () => (await client.getJob({ typeName: 'step', id: chain.id }))!.failures === 1)
        assert.deepEqual((await client.listJobs({ filter: { typeName: ['next'] } })).items, [])
        assert.equal((await client.getJobChain(after))!.state, 'blocked')
        assert.equal((await client.getJob({ typeName: 'step', id: chain.id }))!.lastAttemptError!.message, 'too late')
        failed.resolve()
        assert.equal((await client.waitForJobChainCompletion(chain, wait)).output, 'second')
      })
    }

    test('a complete() that the handler does not await is awaited', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      await work({
        step: {
          process: async ({ complete }) => {
            const completing = complete(async () => {
              await new Promise((resolve) => setTimeout(resolve, 20))
              return 'later'
            })
            completing.catch(() => {})
            return {} as never
          },
        },
      })
      const chain = await client.startJobChain({ typeName: 'step', input: 'x' })
      assert.equal((await client.waitForJobChainCompletion(chain, wait)).output, 'later')
    })

    test('an error is stored with its own properties, up to 8 KiB, and removed by a success', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const seen: unknown[] = []
      await work({
        step: {
          process: async ({ job, complete }) => {
            seen.push(job.lastAttemptError)
            if (job.failures === 0)
              throw Object.assign(new TypeError('first'), { status: 503, body: 'x'.repeat(50_000) })
            return complete('fine')
          },
        },
      })
      const chain = await client.startJobChain({ typeName: 'step', input: 'x' })
      await client.waitForJobChainCompletion(chain, wait)
      assert.equal(seen[0], null)
      const stored = seen[1] as { name: string; message: string; status: number; stack: string }
      assert.deepEqual([stored.name, stored.message, stored.status], ['TypeError', 'first', 503])
      assert.ok(stored.stack.length > 0 && JSON.stringify(stored).length <= 8_192)
      assert.equal((await client.getJob({ typeName: 'step', id: chain.id }))!.lastAttemptError, null)
    })

    test('after maxAttempts failures the chain fails with the last error', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const seen: [number, number][] = []
      await work({
        step: {
          process: async ({ job }) => {
            seen.push([job.attempt, job.failures])
            throw new Error(`attempt ${job.attempt}`)
          },
          retryConfig: { maxAttempts: 3 },
        },
      })
      const chain = await client.startJobChain({ typeName: 'step', input: 'x' })
      await assert.rejects(client.waitForJobChainCompletion(chain, wait), {
        code: 'CHAIN_FAILED',
        name: 'JobChainFailedError',
        chainId: chain.id,
        message: /attempt 3$/,
      })
      assert.deepEqual(seen, [
        [1, 0],
        [2, 1],
        [3, 2],
      ])
      const job = await client.getJob({ typeName: 'step', id: chain.id })
      assert.ok(job!.state === 'failed' && job!.error.message === 'attempt 3' && job!.failedAt > 0)
    })

    test('fail, returned or thrown, failJob and UnrecoverableError fail the job at once', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      await work({
        step: {
          process: async ({ job, complete }) => {
            if (job.input === 'returned') return fail('for good')
            if (job.input === 'returned with a cause') return fail(new Error('for good'))
            if (job.input === 'returned after complete') {
              await complete('never')
              return fail('for good')
            }
            if (job.input === 'completed with it') return complete(() => fail('for good') as never)
            if (job.input === 'thrown') throw fail('for good')
            if (job.input === 'failJob') failJob(new Error('for good'))
            throw new UnrecoverableError('for good')
          },
        },
      })
      const ways = ['returned', 'returned with a cause', 'returned after complete', 'completed with it', 'thrown']
      for (const input of [...ways, 'failJob', 'UnrecoverableError']) {
        const chain = await client.startJobChain({ typeName: 'step', input })
        await assert.rejects(
          client.waitForJobChainCompletion(chain, wait),
          { code: 'CHAIN_FAILED', message: /for good/ },
          input,
        )
        const job = await client.getJob({ typeName: 'step', id: chain.id })
        assert.deepEqual([job!.failures, job!.attempt], [1, 1], input)
      }
    })

    test('[chains trap 16] snooze, returned or thrown, and rescheduleJob cost no attempt; a cause is the error', async (t) => {
      const { client, work, told } = await chainBench(t, driver, types)
      const seen: unknown[] = []
      const reason = new Error('not yet')
      await work({
        step: {
          // Each failure would be the last.
          maxAttempts: 1,
          process: async ({ job, complete }) => {
            seen.push(job.lastAttemptError?.message ?? null)
            switch (job.attempt) {
              case 1:
                return snooze({ delayMs: 1 })
              case 2:
                return snooze({ runAt: new Date(0), cause: reason })
              case 3:
                throw snooze({ delayMs: 1 })
              case 4:
                return rescheduleJob({ afterMs: 1 }, reason)
              case 5:
                return rescheduleJob({ at: 5 })
              case 6:
                await complete('never')
                return snooze({ delayMs: 1 })
              default:
                return complete(`${job.attempt} ${job.failures}`)
            }
          },
        },
      })
      const chain = await client.startJobChain({ typeName: 'step', input: 'x' })
      assert.equal((await client.waitForJobChainCompletion(chain, wait)).output, '7 0')
      assert.deepEqual(seen, [null, null, 'not yet', null, 'not yet', null, null])
      assert.deepEqual([told('jobAttemptReleased').length, told('jobAttemptFailed')], [6, []])
    })

    test('a directive of a wrong shape is refused where it is made', () => {
      const invalid = { name: 'TypeError', code: 'INVALID_ARGUMENT' }
      assert.throws(() => snooze({}), invalid)
      assert.throws(() => snooze({ delayMs: 1, runAt: 1 }), invalid)
      assert.throws(() => rescheduleJob({} as never), invalid)
      assert.throws(() => rescheduleJob({ afterMs: -1 }), invalid)
    })

    test('a timeout aborts the signal and frees the slot; a later outcome is dropped', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const reasons: unknown[] = []
      const late = gate<unknown>()
      await work({
        step: {
          timeoutMs: 300,
          process: async ({ job, signal, complete }) => {
            if (job.attempt > 1) return complete('in time')
            await new Promise((resolve) => signal.addEventListener('abort', resolve))
            reasons.push(signal.reason!.reason)
            await until(async () => (await client.getJobChain(chain))!.state === 'completed')
            return complete('late').catch((error: unknown) => {
              late.resolve(error)
              throw error
            })
          },
        },
      })
      const chain = await client.startJobChain({ typeName: 'step', input: 'x' })
      assert.equal((await client.waitForJobChainCompletion(chain, wait)).output, 'in time')
      const error = (await late.promise) as { code: string; reason: string }
      assert.deepEqual([error.code, error.reason, reasons], ['LEASE_LOST', 'timeout', ['timeout']])
      const job = await client.getJob({ typeName: 'step', id: chain.id })
      assert.deepEqual([job!.failures, job!.attempt], [1, 2])
    })

    test('a continuation with a blocker that does not exist fails the attempt, which is retried', async (t) => {
      const { client, work } = await chainBench(t, driver, joined)
      await work({
        from: {
          process: async ({ job, complete }) =>
            complete(async ({ continueWith }) =>
              continueWith({
                typeName: 'to',
                input: null,
                blockers: job.failures === 0 ? [{ typeName: 'from', id: 'missing' }] : [],
              }),
            ),
        },
        to: { process: async ({ complete }) => complete(null) },
      })
      const chain = await client.startJobChain({ typeName: 'from', input: null })
      await client.waitForJobChainCompletion(chain, wait)
      const job = await client.getJob({ typeName: 'from', id: chain.id })
      assert.deepEqual([job!.failures, job!.attempt], [1, 2])
    })
  })
}

const joined = defineJobTypes<{
  from: { entry: true; input: null; continueWith: { typeName: 'to' } }
  to: { input: null; output: null; blockers: { typeName: 'from' }[] }
}>()
