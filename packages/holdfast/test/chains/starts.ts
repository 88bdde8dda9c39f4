// Starting chains, and reading them (specs/chains.md 3.1).

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineJobTypes } from 'holdfast/chains'
import type { ChainDriver } from './driver.ts'
import { chainBench, inChain, wait } from './bench.ts'

const types = defineJobTypes<{
  greet: { entry: true; input: { name: string }; output: string }
  first: { entry: true; input: number; continueWith: { typeName: 'second' } }
  second: { input: { half: number }; output: { done: number } }
  nothing: { entry: true; input: null; output: null }
}>()

const values = defineJobTypes<{ echo: { entry: true; input: unknown; output: unknown } }>()

const parts = defineJobTypes<{
  part: { entry: true; input: number; output: number }
  whole: { entry: true; input: null; output: number; blockers: [{ typeName: 'part' }, { typeName: 'part' }] }
  loop: { entry: true; input: null; output: null; blockers: [{ typeName: 'loop' }] }
}>()

class Money {
  readonly cents: number
  constructor(cents: number) {
    this.cents = cents
  }
}

const loop = (id: string, other: string) =>
  ({ typeName: 'loop', input: null, id, blockers: [{ typeName: 'loop', id: other }] }) as const

export function startTests(driver: ChainDriver): void {
  describe('starting', () => {
    test('a chain exists once its start resolves, and reads as it was started', async (t) => {
      const { client, storage } = await chainBench(t, driver, types)
      const before = (await storage.count({})).now
      const chain = await client.startJobChain({ typeName: 'greet', input: { name: 'Ann' }, priority: 7 })
      assert.deepEqual(
        [
          chain.typeName,
          chain.input,
          chain.state,
          chain.priority,
          chain.deduplicated,
          chain.rootChainId,
          chain.originId,
        ],
        ['greet', { name: 'Ann' }, 'queued', 7, false, chain.id, null],
      )
      assert.ok(before <= chain.createdAt)
      const { deduplicated, status, ...read } = chain
      assert.deepEqual([deduplicated, status], [false, 'added'])
      assert.deepEqual(await client.getJobChain(chain), read)
      const job = await client.getJob({ typeName: 'greet', id: chain.id })
      assert.deepEqual(
        [job!.chainId, job!.chainTypeName, job!.chainIndex, job!.attempt, job!.failures, job!.lastAttemptAt],
        [chain.id, 'greet', 0, 0, 0, null],
      )
      assert.deepEqual([job!.lastAttemptError, job!.blockers, job!.state], [null, [], 'queued'])
      assert.equal(await client.getJobChain({ typeName: 'greet', id: 'another' }), null)
      assert.equal(await client.getJob({ typeName: 'nothing', id: chain.id }), null)
    })

    test('a worker runs it, and its output is that of the chain', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      await work(
        {
          greet: { process: async ({ job, complete }) => complete(`hello ${job.input.name}`) },
          nothing: { process: async ({ complete }) => complete(null) },
        },
        { workerId: 'host-1' },
      )
      const chain = await client.startJobChain({ typeName: 'greet', input: { name: 'Ann' } })
      const done = await client.waitForJobChainCompletion(chain, wait)
      assert.deepEqual([done.state, done.output, done.id], ['completed', 'hello Ann', chain.id])
      const job = await client.getJob({ typeName: 'greet', id: chain.id })
      assert.ok(job!.state === 'completed')
      assert.deepEqual([job!.completedBy, job!.attempt, job!.completedAt], ['host-1', 1, done.completedAt])
      const empty = await client.startJobChain({ typeName: 'nothing', input: null })
      assert.equal((await client.waitForJobChainCompletion(empty, wait)).output, null)
    })

    test('a continuation has the chain’s id, its own input, and the next number', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const seen: unknown[] = []
      await work({
        first: {
          process: async ({ job, complete }) =>
            complete(async ({ continueWith }) => continueWith({ typeName: 'second', input: { half: job.input / 2 } })),
        },
        second: {
          process: async ({ job, complete }) => {
            seen.push(job.chainId, job.chainTypeName, job.chainIndex, job.originId, job.priority, job.traceContext)
            return complete({ done: job.input.half })
          },
        },
      })
      const traceContext = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }
      const chain = await client.startJobChain({ typeName: 'first', input: 10, priority: 3, traceContext })
      const done = await client.waitForJobChainCompletion(chain, wait)
      assert.deepEqual(done.output, { done: 5 })
      assert.deepEqual(seen, [chain.id, 'first', 1, chain.id, 3, traceContext])
      const items = inChain((await client.listJobs({ filter: { chain } })).items)
      assert.deepEqual(
        items.map(({ typeName, state }) => [typeName, state]),
        [
          ['first', 'completed'],
          ['second', 'completed'],
        ],
      )
    })

    test('inputs and outputs come back equal, also what JSON would lose', async (t) => {
      const { client, work } = await chainBench(t, driver, values)
      const seen: unknown[] = []
      await work({
        echo: {
          process: async ({ job, complete }) => {
            seen.push(job.input)
            return complete(job.input)
          },
        },
      })
      const input = {
        at: new Date(0),
        rates: new Map([['eur', 10n]]),
        tags: new Set(['a', 'b']),
        bytes: Buffer.from([0, 255]),
        link: new URL('https://example.com/'),
        nothing: undefined,
        list: [Number.NaN, -0, undefined],
        $holdfast: 1,
      }
      const chain = await client.startJobChain({ typeName: 'echo', input })
      assert.deepEqual(chain.input, input)
      const done = await client.waitForJobChainCompletion(chain, wait)
      assert.deepEqual([seen, done.input, done.output], [[input], input, input])
      const again = await client.startJobChain({ typeName: 'echo', id: chain.id, input: null })
      assert.ok(again.state === 'completed')
      assert.deepEqual(again.output, input)
    })

    test('a value that cannot be stored is refused with its path, and nothing is written', async (t) => {
      const { client } = await chainBench(t, driver, types)
      const cycle: unknown[] = []
      cycle.push(cycle)
      for (const [name, path, reason] of [
        [() => 'x', 'input.name', 'a function cannot be stored'],
        [Symbol('x'), 'input.name', 'a symbol cannot be stored'],
        [{ deep: [new Money(5)] }, 'input.name.deep[0]', 'an instance of Money cannot be stored'],
        [cycle, 'input.name[0]', 'a reference to an object that contains it cannot be stored'],
      ] as const) {
        const start = client.startJobChain({ typeName: 'greet', input: { name: name as unknown as string } })
        const message = `job type 'greet': ${path}: ${reason}`
        await assert.rejects(start, { name: 'SerializationError', code: 'SERIALIZATION_ERROR', path, message })
      }
      const missing = client.startJobChain({ typeName: 'greet' } as never)
      await assert.rejects(missing, { code: 'SERIALIZATION_ERROR', path: 'input', message: /undefined.*Use null/ })
      assert.deepEqual((await client.listJobChains()).items, [])
    })

    test('an output that cannot be stored fails the attempt, with its path', async (t) => {
      const { client, work } = await chainBench(t, driver, values)
      await work({ echo: { process: async ({ complete }) => complete({ run: () => 5 }), maxAttempts: 1 } })
      const chain = await client.startJobChain({ typeName: 'echo', input: null })
      const message = /job type 'echo': output\.run: a function cannot be stored$/
      await assert.rejects(client.waitForJobChainCompletion(chain, wait), { code: 'CHAIN_FAILED', message })
    })

    test('delayMs and runAt, and their alias schedule: not before its time; the past is now', async (t) => {
      const { client, storage } = await chainBench(t, driver, types)
      const { now } = await storage.count({})
      const start = async (
        when:
          | { delayMs: number }
          | { runAt: number | Date }
          | { schedule: { at: number | Date } | { afterMs: number } },
      ) => {
        const { id } = await client.startJobChain({ typeName: 'greet', input: { name: 'x' }, ...when })
        return (await client.getJob({ typeName: 'greet', id }))!
      }
      for (const when of [{ delayMs: 60_000 }, { schedule: { afterMs: 60_000 } }]) {
        const job = await start(when)
        assert.deepEqual([job.state, job.runAt], ['scheduled', job.createdAt + 60_000])
      }
      const at = now + 90_000
      for (const when of [{ runAt: new Date(at) }, { runAt: at }, { schedule: { at: new Date(at) } }]) {
        const job = await start(when)
        assert.deepEqual([job.state, job.runAt], ['scheduled', at])
      }
      for (const when of [{ runAt: 5 }, { schedule: { at: 5 } }]) {
        const job = await start(when)
        assert.deepEqual([job.state, job.runAt], ['queued', job.createdAt])
      }
    })

    test('wrong options are refused before anything is written', async (t) => {
      const { client } = await chainBench(t, driver, types)
      const wrong: [string, object][] = [
        ['priority', { priority: 101 }],
        ['priority', { priority: 0.5 }],
        ['schedule', { schedule: { at: 1, afterMs: 1 } }],
        ['schedule', { schedule: {} }],
        ['afterMs', { schedule: { afterMs: -1 } }],
        ['delayMs', { delayMs: -1 }],
        ['runAt', { runAt: 'soon' }],
        ['startJobChain options: expected either delayMs or runAt', { delayMs: 1, runAt: 1 }],
        [
          'startJobChain options: expected either delayMs or its alias schedule',
          { delayMs: 1, schedule: { afterMs: 1 } },
        ],
        ['startJobChain options: expected either runAt or its alias schedule', { runAt: 1, schedule: { at: 1 } }],
        ['startJobChain options: expected either startBlockers or blockers', { blockers: [], startBlockers() {} }],
        ['id', { id: '' }],
        ['typeName', { typeName: 5 }],
        ['startJobChain options', { inptu: 5 }],
        ['deduplication.key', { deduplication: { strategy: 'all' } }],
        ['strategy', { deduplication: { key: 'k', strategy: 'none' } }],
        ['windowMs', { deduplication: { key: 'k', windowMs: 0 } }],
        ['traceContext.traceparent', { traceContext: {} }],
        ['onBlockerFailure', { onBlockerFailure: 'ignore' }],
      ]
      for (const [name, options] of wrong) {
        const start = client.startJobChain({ typeName: 'greet', input: { name: 'x' }, ...options } as never)
        await assert.rejects(start, { name: 'TypeError', code: 'INVALID_ARGUMENT', message: new RegExp(`^${name}`) })
      }
      assert.deepEqual((await client.listJobChains()).items, [])
    })

    test('several chains in one move, or none', async (t) => {
      const { client, line } = await chainBench(t, driver, types)
      const adds = line.count('add')
      const chains = await client.startJobChains({
        items: [
          { typeName: 'greet', input: { name: 'a' }, deduplication: { key: 'same' } },
          { typeName: 'first', input: 4 },
          { typeName: 'greet', input: { name: 'b' }, deduplication: { key: 'same' } },
        ],
      })
      assert.equal(line.count('add'), adds + 1)
      assert.deepEqual(
        chains.map(({ typeName, deduplicated }) => [typeName, deduplicated]),
        [
          ['greet', false],
          ['first', false],
          ['greet', true],
        ],
      )
      assert.equal(chains[2].id, chains[0].id)
      assert.deepEqual(chains[2].input, { name: 'a' })
      const wrong = client.startJobChains({
        items: [
          { typeName: 'greet', input: { name: 'a' } },
          { typeName: 'greet', input: { name: (() => 'b') as unknown as string } },
        ],
      })
      await assert.rejects(wrong, { code: 'SERIALIZATION_ERROR' })
      assert.equal((await client.listJobChains()).items.length, 2)
    })

    test('chains of one call may block one another, in any order; each is its own root', async (t) => {
      const { client, work } = await chainBench(t, driver, parts)
      const part = { typeName: 'part', input: 2, id: 'a' } as const
      const [, whole] = await client.startJobChains({
        items: [
          part,
          {
            typeName: 'whole',
            input: null,
            blockers: [
              { typeName: 'part', id: 'a' },
              { typeName: 'part', id: 'b' },
            ],
          },
          { typeName: 'part', input: 3, id: 'b' },
        ],
      })
      assert.equal(whole.state, 'blocked')
      const read = await client.getJobChain(part)
      assert.deepEqual([read!.rootChainId, read!.originId], ['a', null])
      await work({
        part: { process: async ({ job, complete }) => complete(job.input) },
        whole: { process: async ({ job, complete }) => complete(job.blockers[0].output * job.blockers[1].output) },
      })
      assert.equal((await client.waitForJobChainCompletion(whole, wait)).output, 6)
      // Given as it was read, with all its fields.
      assert.deepEqual((await client.getJobChain((await client.getJobChain(whole))!))!.id, whole.id)
    })

    test('an existing sibling is waited for; a cycle, and a chain started for another, are refused', async (t) => {
      const { client } = await chainBench(t, driver, parts)
      const hour = { schedule: { afterMs: 3_600_000 } } as const
      const standing = await client.startJobChain({ typeName: 'part', input: 1, deduplication: { key: 'k' }, ...hour })
      const named = { typeName: 'part', id: 'p' } as const
      const [part, whole] = await client.startJobChains({
        items: [
          { ...named, input: 2, deduplication: { key: 'k' } },
          { typeName: 'whole', input: null, blockers: [named, named] },
        ],
      })
      assert.deepEqual([part.id, part.deduplicated], [standing.id, true])
      const job = await client.getJob(whole)
      assert.deepEqual(
        job!.blockers.map(({ id }) => id),
        [standing.id, standing.id],
      )
      await assert.rejects(client.startJobChains({ items: [loop('x', 'y'), loop('y', 'x')] }), {
        code: 'BLOCKER_OWN_CHAIN',
      })
      await assert.rejects(client.startJobChains({ items: [loop('x', 'x')] }), { code: 'BLOCKER_OWN_CHAIN' })
      const nested = client.startJobChains({
        items: [
          {
            typeName: 'whole',
            input: null,
            startBlockers: async ({ startJobChain }) => [
              await startJobChain({ typeName: 'part', input: 1, id: 'inner' }),
              standing,
            ],
          },
          { typeName: 'whole', input: null, blockers: [{ typeName: 'part', id: 'inner' }, standing] },
        ],
      })
      await assert.rejects(nested, { code: 'INVALID_BLOCKERS' })
      assert.equal((await client.listJobChains()).items.length, 2)
    })

    test('a new chain is one call to the storage', async (t) => {
      const { client, line } = await chainBench(t, driver, types)
      const before = line.count()
      await client.startJobChain({ typeName: 'greet', input: { name: 'x' }, schedule: { afterMs: 5 } })
      assert.equal(line.count() - before, 1)
    })

    test('starts of one tick go to the storage together', async (t) => {
      const { client, line } = await chainBench(t, driver, types)
      const adds = line.count('add')
      const names = Array.from({ length: 40 }, (_, index) => `n${index}`)
      const chains = await Promise.all(
        names.map((name) => client.startJobChain({ typeName: 'greet', input: { name } })),
      )
      assert.ok(line.count('add') - adds <= 2, `${line.count('add') - adds} adds`)
      assert.deepEqual(
        chains.map(({ input }) => input.name),
        names,
      )
    })
  })

  describe('deduplication', () => {
    const start = { typeName: 'greet', input: { name: 'x' } } as const

    test('[chains trap 3] 30 concurrent starts with one key: one chain', async (t) => {
      const { client, another } = await chainBench(t, driver, types)
      const other = await another()
      for (const more of [
        {},
        { windowMs: 60_000 },
        { strategy: 'all' },
        { strategy: 'all', windowMs: 60_000 },
      ] as const) {
        const deduplication = { key: JSON.stringify(more), ...more }
        const chains = await Promise.all(
          Array.from({ length: 30 }, (_, index) =>
            (index % 2 ? other : client).startJobChain({ ...start, deduplication }),
          ),
        )
        assert.equal(new Set(chains.map(({ id }) => id)).size, 1)
        assert.equal(chains.filter(({ deduplicated }) => deduplicated).length, 29)
      }
    })

    test('a chosen id deduplicates too; the input of the duplicate is ignored', async (t) => {
      const { client } = await chainBench(t, driver, types)
      const first = await client.startJobChain({ ...start, id: 'mine' })
      const second = await client.startJobChain({ typeName: 'greet', input: { name: 'other' }, id: 'mine' })
      assert.deepEqual([first.deduplicated, second.deduplicated, second.input.name], [false, true, 'x'])
    })

    test('strategy completed: the key is free once the chain completed; strategy all: it is not', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      await work({ greet: { process: async ({ complete }) => complete('done') } })
      for (const [strategy, again] of [
        ['completed', false],
        ['all', true],
      ] as const) {
        const deduplication = { key: strategy, strategy }
        const first = await client.startJobChain({ ...start, deduplication })
        await client.waitForJobChainCompletion(first, wait)
        const second = await client.startJobChain({ ...start, deduplication })
        assert.equal(second.deduplicated, again)
        assert.equal(second.id === first.id, again)
        if (second.deduplicated) assert.ok(second.state === 'completed' && second.output === 'done')
      }
    })

    test('failed and cancelled chains free their key', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      const deduplication = { key: 'k', strategy: 'all' } as const
      const cancelled = await client.startJobChain({ ...start, deduplication })
      assert.deepEqual(await client.cancelJobChain({ typeName: 'greet', id: cancelled.id }), { verdict: 'cancelled' })
      const failing = await client.startJobChain({ ...start, deduplication })
      assert.equal(failing.deduplicated, false)
      await work({
        greet: {
          process: async () => {
            throw new Error('no')
          },
          retryConfig: { maxAttempts: 1 },
        },
      })
      await assert.rejects(client.waitForJobChainCompletion(failing, wait), { code: 'CHAIN_FAILED' })
      assert.equal((await client.startJobChain({ ...start, deduplication })).deduplicated, false)
    })
  })
}
