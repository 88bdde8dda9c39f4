// Starts with the deduplication modes debounce, followUp and ascending.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DuplicateJobError } from 'holdfast'
import { defineJobTypes } from 'holdfast/chains'
import { chainBench, wait } from './bench.ts'
import type { ChainDriver } from './driver.ts'

const types = defineJobTypes<{
  sync: { entry: true; input: number; output: number }
  report: { entry: true; input: null; output: number; blockers: [{ typeName: 'sync' }] }
}>()

const sync = (input: number) => ({ typeName: 'sync', input }) as const

const version = (number: number) => ({ key: 'k', mode: 'ascending', version: number }) as const

export function deduplicationModeTests(driver: ChainDriver): void {
  describe('deduplication modes', () => {
    test('[F25] debounce: a second start replaces the input of the waiting chain, and answers with that', async (t) => {
      const { client, work, told } = await chainBench(t, driver, types)
      const deduplication = { key: 'k', mode: 'debounce', windowMs: 600_000 } as const
      const first = await client.startJobChain({ ...sync(1), deduplication })
      assert.deepEqual([first.status, first.state], ['added', 'scheduled'])
      const second = await client.startJobChain({ ...sync(2), deduplication })
      assert.deepEqual([second.status, second.deduplicated, second.id, second.input], ['replaced', true, first.id, 2])
      assert.deepEqual(told('jobDeduplicated'), [{ typeName: 'sync', id: first.id, by: 'key' }])
      const starts = [3, 4, 5].map((input) => client.startJobChain({ ...sync(input), deduplication }))
      assert.deepEqual(new Set((await Promise.all(starts)).map(({ id }) => id)), new Set([first.id]))
      const soon = { ...deduplication, maxWaitMs: 1 }
      const [last] = await client.startJobChains({ items: [{ ...sync(6), deduplication: soon }] })
      await work({ sync: { process: async ({ job, complete }) => complete(job.input) } })
      assert.equal((await client.waitForJobChainCompletion(last!, wait)).output, 6)
    })

    test('[F25] followUp: a start while the chain runs is one chain that runs after it', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const deduplication = { key: 'k', mode: 'followUp' } as const
      const [started, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const first = await client.startJobChain({ ...sync(1), deduplication })
      assert.equal((await client.startJobChain({ ...sync(0), deduplication })).status, 'duplicate')
      const seen: number[] = []
      await work({
        sync: {
          process: async ({ job, complete }) => {
            seen.push(job.input)
            started.resolve()
            if (job.input === 1) await release.promise
            return complete(job.input)
          },
        },
      })
      await started.promise
      const second = await client.startJobChain({ ...sync(2), deduplication })
      assert.deepEqual([second.status, second.state], ['added', 'blocked'])
      const third = await client.startJobChain({ ...sync(3), deduplication })
      assert.deepEqual([third.status, third.id, third.state], ['replaced', second.id, 'blocked'])
      release.resolve()
      await client.waitForJobChainCompletion(first, wait)
      assert.equal((await client.waitForJobChainCompletion(third, wait)).output, 3)
      assert.deepEqual(seen, [1, 3])
    })

    test('[F25] ascending: a start with a stale version is refused, and nothing is written', async (t) => {
      const { client } = await chainBench(t, driver, types)
      assert.equal((await client.startJobChain({ ...sync(1), deduplication: version(5) })).status, 'added')
      await assert.rejects(client.startJobChain({ ...sync(2), deduplication: version(5) }), (error) => {
        assert.ok(error instanceof DuplicateJobError)
        assert.deepEqual([error.by, error.version], ['version', 5])
        return true
      })
      assert.equal((await client.startJobChain({ ...sync(3), deduplication: version(6) })).status, 'added')
      assert.equal((await client.listJobChains()).items.length, 2)
    })

    test('[F25] what a mode does not allow is refused before anything is written', async (t) => {
      const { client } = await chainBench(t, driver, types)
      const debounce = { key: 'k', mode: 'debounce', windowMs: 1_000 } as const
      const wrong: readonly (readonly [object, RegExp])[] = [
        [{ deduplication: { ...debounce, windowMs: undefined } }, /deduplication\.windowMs/],
        [{ deduplication: debounce, delayMs: 5 }, /delayMs.*debounce/],
        [{ deduplication: debounce, schedule: { at: 5 } }, /runAt.*debounce/],
        [{ deduplication: { key: 'k', mode: 'ascending' } }, /deduplication\.version/],
        [{ deduplication: { key: 'k', mode: 'followUp', ttlMs: 5 } }, /mode 'followUp'.*ttlMs/],
        [{ deduplication: { key: 'k', mode: 'simple', strategy: 'all' } }, /mode or its alias strategy/],
      ]
      for (const [options, message] of wrong) {
        await assert.rejects(client.startJobChain({ ...sync(1), ...options }), { code: 'INVALID_ARGUMENT', message })
      }
      const ascending = { key: 'k', mode: 'ascending', version: 1 } as const
      const items = [sync(1), { ...sync(2), deduplication: ascending }]
      await assert.rejects(client.startJobChains({ items }), { code: 'INVALID_ARGUMENT', message: /ascending/ })
      const blocked = {
        typeName: 'report',
        input: null,
        deduplication: { key: 'k', mode: 'followUp' },
        blockers: [{ typeName: 'sync', id: 'any' }],
      } as const
      await assert.rejects(client.startJobChain(blocked), { code: 'INVALID_ARGUMENT', message: /followUp/ })
      assert.deepEqual((await client.listJobChains()).items, [])
    })
  })
}
