// Middlewares around an attempt (specs/chains.md 3.7).

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, test } from 'node:test'
import { type AttemptResult, defineJobTypes, type JobAttemptMiddleware } from 'holdfast/chains'
import { gate, until } from '../queue/driver.ts'
import { atOnce, chainBench, wait } from './bench.ts'
import type { ChainDriver } from './driver.ts'

interface Types {
  step: { entry: true; input: string; output: string; continueWith: { typeName: 'next' } }
  next: { input: null; output: string }
}
const types = defineJobTypes<Types>()
type Middleware = JobAttemptMiddleware<Types>

const through = (...jobAttemptMiddlewares: Middleware[]) => ({
  jobTypeProcessing: { jobAttemptMiddlewares, defaultRetryConfig: atOnce },
})

const throwsThenSkips: Middleware = async ({ job }, next) => {
  if (job.failures === 0) throw new Error('mine')
  if (job.failures === 1) return { outcome: 'completed', output: 'a lie' }
  return next()
}

const impatient: Middleware = async ({ job }, next) => {
  const inside = next()
  if (job.attempt === 1) throw new Error('impatient')
  return inside
}

export function middlewareTests(driver: ChainDriver): void {
  describe('middlewares', () => {
    test('[chains trap 8] next() resolves after the commit with the outcome; the first is outermost', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const said: string[] = []
      const results: AttemptResult[] = []
      const named =
        (name: string): Middleware =>
        async ({ job, workerId }, next) => {
          said.push(`${name} ${workerId}`)
          const result = await next()
          const read = await client.getJob({ typeName: job.typeName, id: job.id })
          said.push(`${name} ${read!.state}`)
          if (name === 'outer') results.push(result)
          return result
        }
      await work(
        {
          step: {
            process: async ({ complete }) => {
              said.push('handler')
              return complete(async ({ continueWith }) => continueWith({ typeName: 'next', input: null }))
            },
          },
          next: { process: async ({ complete }) => complete('done') },
        },
        { workerId: 'w', ...through(named('outer'), named('inner')) },
      )
      const chain = await client.startJobChain({ typeName: 'step', input: 'x' })
      await client.waitForJobChainCompletion(chain, wait)
      await until(() => results.length === 2)
      assert.deepEqual(said.slice(0, 5), ['outer w', 'inner w', 'handler', 'inner completed', 'outer completed'])
      assert.equal(results[0]!.outcome, 'continued')
      assert.ok(results[0]!.outcome === 'continued' && results[0]!.job.typeName === 'next')
      assert.deepEqual(results[1], { outcome: 'completed', output: 'done' })
    })

    test('[chains trap 8] next() rejects with the handler’s own error; catching it changes nothing', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const thrown = new Error('own')
      const seen: unknown[] = []
      const outer: Middleware = async (_, next) => {
        return next().catch((error: unknown) => {
          seen.push(error)
          return { outcome: 'completed', output: 'a lie' }
        })
      }
      const inner: Middleware = async ({ job }, next) => {
        try {
          return await next()
        } catch (error) {
          seen.push(error, (await client.getJob({ typeName: 'step', id: job.id }))!.state)
          return { outcome: 'completed', output: 'a lie' }
        }
      }
      await work(
        {
          step: {
            process: async () => {
              throw thrown
            },
            retryConfig: { maxAttempts: 1 },
          },
        },
        through(outer, inner),
      )
      const chain = await client.startJobChain({ typeName: 'step', input: 'x' })
      await assert.rejects(client.waitForJobChainCompletion(chain, wait), { code: 'CHAIN_FAILED', message: /own$/ })
      await until(() => seen.length === 3)
      assert.deepEqual(seen, [thrown, 'failed', thrown])
    })

    test('a middleware that throws before next(), or does not call it, fails the attempt', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      let runs = 0
      await work(
        {
          step: {
            process: async ({ job, complete }) => {
              runs++
              return complete(`${job.failures} ${job.lastAttemptError!.code}`)
            },
          },
        },
        through(throwsThenSkips),
      )
      const chain = await client.startJobChain({ typeName: 'step', input: 'x' })
      assert.equal((await client.waitForJobChainCompletion(chain, wait)).output, '2 MIDDLEWARE_SKIPPED')
      assert.equal(runs, 1)
    })

    test('an error of a middleware after the commit is an event, and the job stays completed', async (t) => {
      const { client, work, told } = await chainBench(t, driver, types)
      const late = new Error('late')
      const middleware: Middleware = async (_, next) => {
        await next()
        throw late
      }
      await work({ step: { process: async ({ complete }) => complete('done') } }, through(middleware))
      const chain = await client.startJobChain({ typeName: 'step', input: 'x' })
      assert.equal((await client.waitForJobChainCompletion(chain, wait)).output, 'done')
      await until(() => told('workerError').length === 1)
      assert.equal(told('workerError')[0]!.error, late)
      assert.equal((await client.getJobChain(chain))!.state, 'completed')
    })

    test('an error of a middleware while the handler runs: the outcome of the handler is dropped', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const finish = gate()
      const late = gate<unknown>()
      await work(
        {
          step: {
            process: async ({ job, complete }) => {
              if (job.attempt > 1) return complete('second')
              await finish.promise
              const completing = complete('first')
              completing.then(late.resolve, late.resolve)
              return completing
            },
          },
        },
        through(impatient),
      )
      const chain = await client.startJobChain({ typeName: 'step', input: 'x' })
      assert.equal((await client.waitForJobChainCompletion(chain, wait)).output, 'second')
      finish.resolve()
      assert.equal(((await late.promise) as { code: string }).code, 'LEASE_LOST')
    })

    test('async context set around next() reaches the handler', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const context = new AsyncLocalStorage<string>()
      const middleware: Middleware = (_, next) => context.run('set by the middleware', next)
      await work({ step: { process: async ({ complete }) => complete(context.getStore()!) } }, through(middleware))
      const chain = await client.startJobChain({ typeName: 'step', input: 'x' })
      assert.equal((await client.waitForJobChainCompletion(chain, wait)).output, 'set by the middleware')
    })

    test('code after next() keeps the slot, and a stop waits for it', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const finish = gate()
      let running = 0
      let most = 0
      let after = 0
      const middleware: Middleware = async (_, next) => {
        most = Math.max(most, ++running)
        const result = await next()
        await finish.promise
        running--
        after++
        return result
      }
      const stop = await work(
        { step: { process: async ({ complete }) => complete('done') } },
        { concurrency: 2, ...through(middleware) },
      )
      const items = Array.from({ length: 6 }, () => ({ typeName: 'step' as const, input: 'x' }))
      const chains = await client.startJobChains({ items })
      await until(async () => (await client.listJobChains({ filter: { state: ['completed'] } })).items.length === 2)
      const stopped = stop({ graceMs: 5_000, deadlineMs: 5_000 })
      finish.resolve()
      await stopped
      assert.deepEqual([most, after, chains.length], [2, 2, 6])
    })
  })
}
