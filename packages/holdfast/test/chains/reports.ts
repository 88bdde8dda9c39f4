// progress and log of a handler, stored with its job: by heartbeats, by the outcome, and in the transaction of the attempt.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineJobTypes } from 'holdfast/chains'
import { type Storage } from 'holdfast/storage'
import { gate, until } from '../queue/driver.ts'
import { chainBench, wait } from './bench.ts'
import type { ChainDriver } from './driver.ts'

const types = defineJobTypes<{ step: { entry: true; input: string; output: string } }>()

async function reportsOf(storage: Storage, id: string) {
  const [record] = await storage.get([{ type: 'chain.step', id }], { parts: ['progress', 'log'] })
  const lines = (record!.log?.lines ?? []).map(({ line }) => JSON.parse(Buffer.from(line).toString()) as object)
  return [record!.progress && Buffer.from(record!.progress).toString(), lines]
}

export function reportTests(driver: ChainDriver): void {
  describe('reports of an attempt', () => {
    test('[F27] they are there while the job runs, and all of them once it has ended', async (t) => {
      const { client, work, storage } = await chainBench(t, driver, types)
      const end = gate()
      await work({
        step: {
          process: async ({ complete, progress, log }) => {
            progress(0.5)
            log('half', { n: 1 })
            await end.promise
            log('all')
            return complete('done')
          },
        },
      })
      const chain = await client.startJobChain({ typeName: 'step', input: 'x' })
      await until(async () => (await reportsOf(storage, chain.id))[0] === '0.5', 'the progress of a running job')
      end.resolve()
      await client.waitForJobChainCompletion(chain, wait)
      assert.deepEqual(await reportsOf(storage, chain.id), [
        '0.5',
        [{ text: 'half', fields: { n: 1 } }, { text: 'all' }],
      ])
    })

    for (const mode of ['atomic', 'staged'] as const) {
      test(`[F27] with prepare() (${mode}) and a callback of complete() they are stored with the outcome`, async (t) => {
        const { client, work, storage } = await chainBench(t, driver, types)
        await work({
          step: {
            process: async ({ complete, prepare, progress, log }) => {
              await prepare({ mode }, () => log('prepared'))
              progress(1)
              return complete(async () => {
                log('completed')
                return 'done'
              })
            },
          },
        })
        const chain = await client.startJobChain({ typeName: 'step', input: 'x' })
        await client.waitForJobChainCompletion(chain, wait)
        assert.deepEqual(await reportsOf(storage, chain.id), ['1', [{ text: 'prepared' }, { text: 'completed' }]])
      })
    }

    test('[F27] of an attempt that failed they stay', async (t) => {
      const { client, work, storage } = await chainBench(t, driver, types)
      await work({
        step: {
          maxAttempts: 1,
          process: async ({ progress }) => {
            progress('at the door')
            throw new Error('no')
          },
        },
      })
      const chain = await client.startJobChain({ typeName: 'step', input: 'x' })
      await assert.rejects(client.waitForJobChainCompletion(chain, wait), { code: 'CHAIN_FAILED' })
      assert.deepEqual(await reportsOf(storage, chain.id), ['"at the door"', []])
    })

    test('[F12] [F27] getJob and listJobs show the runs that ended, and the progress', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const chain = await client.startJobChain({ typeName: 'step', input: 'x' })
      const waiting = (await client.getJob(chain))!
      assert.deepEqual([waiting.history, 'progress' in waiting], [[], false])
      await work({
        step: {
          maxAttempts: 2,
          backoff: 'none',
          process: async ({ job, progress, complete }) => {
            progress({ run: job.attempt })
            if (job.attempt === 1) throw new RangeError('busy')
            return complete('done')
          },
        },
      })
      await client.waitForJobChainCompletion(chain, wait)
      const job = (await client.getJob(chain))!
      assert.deepEqual(job.progress, { run: 2 })
      assert.deepEqual(
        job.history.map(({ attempt, outcome, state, error }) => [attempt, outcome, state, error?.message]),
        [
          [1, 'retry', 'failing', 'busy'],
          [2, 'completed', 'completed', undefined],
        ],
      )
      assert.deepEqual((await client.listJobs()).items, [job])
    })
  })
}
