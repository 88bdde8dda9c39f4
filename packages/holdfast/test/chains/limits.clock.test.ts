// Limits of job types: declared with a processor, kept by starts and continuations.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createAdmin } from 'holdfast'
import { createClient, createInProcessWorker, defineJobTypes } from 'holdfast/chains'
import type { ClaimRequest } from 'holdfast/storage'
import { clockBench } from './clock-bench.ts'

const [second, minute] = [1_000, 60_000]

const types = defineJobTypes<{
  call: { entry: true; input: number; output: null; continueWith: { typeName: 'next' } }
  next: { input: number; output: null }
  other: { entry: true; input: number; output: null }
}>()

describe('limits of job types', () => {
  test('[F20] [F22] a processor declares them, and the types have their own', async (t) => {
    const { client, clock, line, work } = await clockBench(t, types)
    const began = clock.now()
    const at: Record<string, number[]> = { call: [], other: [] }
    const process = async ({
      job,
      complete,
    }: {
      job: { typeName: string }
      complete(output: null): Promise<never>
    }) => {
      at[job.typeName]!.push(clock.now() - began)
      return complete(null)
    }
    await work(
      {
        call: { process: process as never, limits: { rate: { limit: 1, perMs: minute } } },
        other: { process: process as never },
      },
      { concurrency: 10 },
    )
    for (const typeName of ['call', 'other'] as const) {
      await client.startJobChains({ items: [1, 2, 3].map((input) => ({ typeName: typeName as 'call', input })) })
    }
    await clock.advance(5 * minute)
    assert.deepEqual(at, { call: [0, minute, 2 * minute], other: [0, 0, 0] })
    const last = line.calls.findLast(({ verb }) => verb === 'claim')!
    const limited = (last.args[0] as ClaimRequest).types.filter((type) => 'limits' in type)
    assert.deepEqual(
      limited.map(({ type, limits }) => [type, limits]),
      [['chain.call', { rate: { limit: 1, perMs: minute } }]],
    )
  })

  test('[F24] maxWaiting: a start is refused, with all of its call; a client knows what workers declare', async (t) => {
    const { client, clock, storage, work } = await clockBench(t, types)
    const stop = await work({ call: { process: () => new Promise(() => {}), limits: { maxWaiting: 2 } } })
    await stop({ graceMs: 0, deadlineMs: 0 })
    const start = (input: number) => client.startJobChain({ typeName: 'call', input })
    await clock.advance(6 * second)
    await start(1)
    await start(2)
    const full = { name: 'QueueFullError', code: 'QUEUE_FULL', of: 'type', waiting: 2, max: 2, queue: 'call' }
    await assert.rejects(start(3), full)
    await assert.rejects(
      client.startJobChains({
        items: [
          { typeName: 'other', input: 1 },
          { typeName: 'call', input: 4 },
        ],
      }),
      { code: 'QUEUE_FULL' },
    )
    assert.equal((await storage.count({ types: ['chain.other'] })).types[0]!.states.queued, 0)
    // A client that is made now knows them at once.
    const other = await createClient({ jobTypeRegistry: types, storage, clock })
    t.after(() => other.close())
    await assert.rejects(other.startJobChain({ typeName: 'call', input: 5 }), full)
  })

  test('[F24] a continuation is never refused for the number of jobs that wait', async (t) => {
    const { client, clock, storage, work } = await clockBench(t, types)
    await using admin = createAdmin({ storage, clock })
    await admin.limits.set({ face: 'chain', name: 'next' }, { maxWaiting: 1 })
    await work({
      call: {
        process: async ({ job, complete }) =>
          complete(async ({ continueWith }) => continueWith({ typeName: 'next', input: job.input })),
      },
    })
    await client.startJobChains({ items: [1, 2, 3].map((input) => ({ typeName: 'call', input })) })
    await clock.advance(second)
    assert.equal((await storage.count({ types: ['chain.next'] })).types[0]!.states.queued, 3)
  })

  test('[F21] [F22] group, weight and onFailure of starts and continuations', async (t) => {
    const { client, clock, storage, work } = await clockBench(t, types)
    await using admin = createAdmin({ storage, clock })
    const limits = { rate: { limit: 5, perMs: second }, group: { onFailure: 'hold' } } as const
    for (const name of ['call', 'next']) await admin.limits.set({ face: 'chain', name }, limits)
    await clock.advance(6 * second)
    const start = { typeName: 'call', input: 1 } as const
    await assert.rejects(client.startJobChain({ ...start, weight: 6 }), { code: 'INVALID_ARGUMENT', message: /weight/ })
    await client.startJobChain({ ...start, weight: 5, group: 'plain' })
    await assert.rejects(client.startJobChain({ ...start, group: { key: 'plain', ordered: true } }), {
      code: 'GROUP_KIND',
      group: 'plain',
      ordered: false,
    })
    const held = { key: 'g', ordered: true } as const
    const first = await client.startJobChain({ ...start, group: held })
    await client.startJobChain({ ...start, group: held })
    const errors: unknown[] = []
    await work(
      {
        call: {
          maxAttempts: 1,
          process: async ({ job, complete }) =>
            complete(async ({ continueWith }) => {
              if (job.id === first.id) throw new Error('no')
              try {
                await continueWith({ typeName: 'next', input: 1, weight: 6 })
              } catch (error) {
                errors.push((error as { code: string }).code)
              }
              return null
            }),
        },
      },
      { concurrency: 5, log: () => {} },
    )
    await clock.advance(minute)
    const { groups } = await admin.limits.get({ face: 'chain', name: 'call' }, { groups: ['g'] })
    assert.deepEqual([groups[0]!.use.heldBy, groups[0]!.use.waiting], [first.id, 1])
    assert.deepEqual(errors, ['INVALID_ARGUMENT'])
  })

  test('[F20] wrong limits are refused with their job type', async (t) => {
    const { storage } = await clockBench(t, types)
    await assert.rejects(
      createInProcessWorker({
        storage,
        jobTypeRegistry: types,
        jobTypeProcessors: { other: { process: () => new Promise(() => {}), limits: { concurency: 1 } as object } },
      }),
      { code: 'INVALID_ARGUMENT', message: /did you mean concurrency/ },
    )
  })
})
