// Leases: which attempt may end a job, and how its handler is aborted (specs/chains.md 3.4).

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineJobTypes, type JobAbortReason } from 'holdfast/chains'
import { gate, until } from '../queue/driver.ts'
import { chainBench, wait } from './bench.ts'
import type { ChainDriver } from './driver.ts'

const types = defineJobTypes<{
  step: { entry: true; input: null; output: string; continueWith: { typeName: 'next' } }
  next: { input: string; output: string }
}>()

export function leaseTests(driver: ChainDriver): void {
  // Without hints a handler is aborted at the next renewal.
  const leaseConfig = driver.hints === false ? { leaseMs: 5_000, renewIntervalMs: 100 } : {}
  const jobTypeProcessing = { defaultLeaseConfig: leaseConfig }

  describe('leases', () => {
    for (const hints of ['received', 'lost'] as const) {
      test(`[chains trap 7] taken back and claimed again by the same worker: only the second attempt counts (hints ${hints})`, async (t) => {
        const { client, work, storage, told, line } = await chainBench(t, driver, types)
        if (hints === 'lost') line.lose(({ kind }) => kind === 'abort')
        const taken = gate()
        const second = gate()
        const rejected = gate<{ code: string; reason: string } | 'not rejected'>()
        let calls = 0
        await work(
          {
            step: {
              process: async ({ job, complete, signal }) => {
                if (job.attempt === 2) {
                  taken.resolve()
                  await second.promise
                  return complete('of the second')
                }
                await storage.recover({ types: ['chain.step'], limit: 5, olderThanMs: -1_000 })
                await taken.promise
                if (hints === 'received') await until(() => signal.aborted)
                const completion = complete(async () => {
                  calls++
                  return 'of the first'
                })
                completion.then(() => rejected.resolve('not rejected'), rejected.resolve)
                return completion
              },
            },
          },
          { concurrency: 2, workerId: 'same', jobTypeProcessing },
        )
        const chain = await client.startJobChain({ typeName: 'step', input: null })
        const error = await rejected.promise
        // Without a transaction the storage is not asked before the settle.
        if (hints === 'received' || storage.features.transactions) {
          assert.ok(error !== 'not rejected')
          assert.deepEqual([error.code, error.reason, calls], ['LEASE_LOST', 'taken_by_another_worker', 0])
        }
        await until(() => told('jobAttemptLost').length > 0)
        second.resolve()
        assert.equal((await client.waitForJobChainCompletion(chain, wait)).output, 'of the second')
        assert.deepEqual(
          told('jobAttemptLost').map(({ reason }) => reason),
          ['taken_by_another_worker'],
        )
        const job = await client.getJob({ typeName: 'step', id: chain.id })
        assert.deepEqual([job!.attempt, job!.failures], [2, 1])
      })
    }

    test('prepare() checks the lease with the storage, and runs no callback if it is lost', async (t) => {
      const { client, work, storage, line } = await chainBench(t, driver, types)
      line.lose(({ kind }) => kind === 'abort')
      const seen = gate<{ code: string; reason: string }[]>()
      await work({
        step: {
          process: async ({ job, prepare, complete }) => {
            await client.cancelJobChain({ typeName: 'step', id: job.id })
            let calls = 0
            const errors: { code: string; reason: string }[] = []
            const count = (): void => void calls++
            await prepare({ mode: storage.features.transactions ? 'atomic' : 'staged' }, count).catch((e) =>
              errors.push(e),
            )
            await complete(async () => {
              count()
              return 'x'
            }).catch((e) => errors.push(e))
            assert.equal(calls, 0)
            seen.resolve(errors)
            return complete('never')
          },
        },
      })
      await client.startJobChain({ typeName: 'step', input: null })
      assert.deepEqual(
        (await seen.promise).map(({ code, reason }) => [code, reason]),
        [
          ['LEASE_LOST', 'cancelled'],
          ['LEASE_LOST', 'cancelled'],
        ],
      )
    })

    const endings: [
      JobAbortReason,
      (bench: Awaited<ReturnType<typeof chainBench<TypesOf>>>, id: string) => Promise<unknown>,
    ][] = [
      ['cancelled', ({ client }, id) => client.cancelJobChain({ typeName: 'step', id, reason: 'enough' })],
      ['not_found', ({ client }, id) => client.deleteJobChains({ rootChainIds: [{ typeName: 'step', id }] })],
      [
        'already_completed',
        ({ client }, id) =>
          client.completeJobChain({
            typeName: 'step',
            id,
            complete: async ({ job, complete }) => {
              assert.ok(job.typeName === 'step')
              return complete(job, async () => 'by hand')
            },
          }),
      ],
    ]
    for (const [reason, end] of endings) {
      test(`[chains trap 15] a running handler is aborted promptly: ${reason}`, async (t) => {
        const bench = await chainBench(t, driver, types)
        const { client, work, told } = bench
        const running = gate()
        const seen = gate<{ reason: unknown; ms: number; error: { code: string; reason: string } }>()
        let endedAt = 0
        await work(
          {
            step: {
              process: async ({ signal, complete }) => {
                running.resolve()
                await new Promise((resolve) => signal.addEventListener('abort', resolve))
                const ms = performance.now() - endedAt
                const completing = complete('too late')
                await completing.catch((error) => seen.resolve({ reason: signal.reason!.reason, ms, error }))
                return completing
              },
            },
          },
          { jobTypeProcessing },
        )
        const chain = await client.startJobChain({ typeName: 'step', input: null })
        await running.promise
        endedAt = performance.now()
        await end(bench, chain.id)
        const { reason: given, ms, error } = await seen.promise
        assert.deepEqual([given, error.code, error.reason], [reason, 'LEASE_LOST', reason])
        assert.ok(ms < 5_000, `after ${ms} ms; renewals come every 30 s`)
        await until(() => told('jobAttemptLost').length === 1)
        const now = await client.getJobChain(chain)
        if (reason === 'not_found') assert.equal(now, null)
        else assert.equal(now!.state, reason === 'cancelled' ? 'cancelled' : 'completed')
        if (now?.state === 'cancelled') assert.equal(now.reason, 'enough')
        if (now?.state === 'completed') assert.equal(now.output, 'by hand')
      })
    }
  })
}

type TypesOf = typeof types extends import('holdfast/chains').JobTypeRegistry<infer T> ? T : never
