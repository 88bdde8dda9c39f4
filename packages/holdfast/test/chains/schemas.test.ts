// Job types by schemas, from a client to a worker and back: values as given, stored and read.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { MemoryStorage } from 'holdfast'
import {
  type Client,
  createClient,
  createInProcessWorker,
  type DefinitionsOf,
  defineJobTypes,
  type JobTypeProcessors,
} from 'holdfast/chains'
import * as v from 'valibot'

const jobTypeRegistry = defineJobTypes({
  measure: {
    entry: true,
    input: v.object({ text: v.string(), times: v.pipe(v.string(), v.transform(Number)) }),
    output: v.pipe(v.number(), v.transform(String)),
    continueWith: { typeName: ['shout'] },
  },
  shout: { input: v.object({ text: v.string() }), output: v.literal('heard') },
  sum: {
    entry: true,
    input: v.null(),
    output: v.string(),
    blockers: [{ typeName: 'measure', many: true }],
  },
})

type Types = DefinitionsOf<typeof jobTypeRegistry>

/** One attempt each, so that a failure is final. */
async function bench(t: TestContext, jobTypeProcessors: JobTypeProcessors<Types, never>): Promise<Client<Types>> {
  const storage = new MemoryStorage()
  const client = await createClient({ storage, jobTypeRegistry })
  t.after(() => client.close())
  const jobTypeProcessing = { defaultRetryConfig: { maxAttempts: 1 } }
  const worker = await createInProcessWorker({ storage, jobTypeRegistry, jobTypeProcessing, jobTypeProcessors })
  const stop = await worker.start()
  t.after(() => stop())
  return client
}

const timeoutMs = 30_000

test('a start takes the schema’s input, the handler sees its output; likewise for outputs', async (t) => {
  const seen: unknown[] = []
  const client = await bench(t, {
    measure: {
      process: async ({ job, complete }) => {
        seen.push(job.input)
        return complete(job.input.text.length * job.input.times)
      },
    },
  })
  const chain = await client.startJobChain({ typeName: 'measure', input: { text: 'four', times: '2' } })
  assert.deepEqual(chain.input, { text: 'four', times: 2 })
  const ended = await client.waitForJobChainCompletion(chain, { timeoutMs })
  assert.deepEqual(seen, [{ text: 'four', times: 2 }])
  assert.equal(ended.output, '8')
})

test('a refused start writes nothing, nor do others of its batch', async (t) => {
  const client = await bench(t, { shout: { process: async ({ complete }) => complete('heard') } })
  // Untyped, as JavaScript would call it.
  const start = client.startJobChain as (options: unknown) => Promise<unknown>
  const startAll = client.startJobChains as (options: unknown) => Promise<unknown>
  const good = { typeName: 'measure', input: { text: 'a', times: '1' } }
  const wrong = { typeName: 'measure', input: { text: 5, times: '1' } }
  const entry = { typeName: 'shout', input: { text: 'a' } }
  const unknown = { typeName: 'whisper', input: null }
  const blockers = { typeName: 'sum', input: null, blockers: [{ typeName: 'sum', id: 'x' }] }
  for (const [options, code] of [
    [wrong, 'INVALID_INPUT'],
    [entry, 'NOT_ENTRY_POINT'],
    [unknown, 'UNKNOWN_TYPE'],
    [blockers, 'INVALID_BLOCKERS'],
  ] as const) {
    await assert.rejects(start.call(client, options), { name: 'JobTypeValidationError', code })
    await assert.rejects(startAll.call(client, { items: [good, options] }), { name: 'JobTypeValidationError', code })
  }
  assert.deepEqual((await client.listJobs()).items, [])
})

test('a refused continuation or output fails the attempt, and nothing is added', async (t) => {
  const client = await bench(t, {
    measure: {
      process: async ({ job, complete }) => {
        if (job.input.text === 'output') return complete('5' as unknown as number)
        const to = job.input.text === 'input' ? { typeName: 'shout', input: 5 } : { typeName: 'sum', input: null }
        return complete(({ continueWith }) => continueWith(to as never))
      },
    },
  })
  for (const [text, code] of [
    ['output', 'INVALID_OUTPUT'],
    ['input', 'INVALID_INPUT'],
    ['name', 'INVALID_CONTINUATION'],
  ] as const) {
    const chain = await client.startJobChain({ typeName: 'measure', input: { text, times: '1' } })
    await assert.rejects(client.waitForJobChainCompletion(chain, { timeoutMs }), { code: 'CHAIN_FAILED' })
    const failed = await client.getJobChain({ typeName: chain.typeName, id: chain.id })
    assert.equal(failed?.state, 'failed')
    assert.equal(failed.error.code, code)
  }
  assert.equal((await client.listJobs()).items.length, 3)
})

test('blockers come with the outputs of their chains', async (t) => {
  const client = await bench(t, {
    measure: { process: async ({ job, complete }) => complete(job.input.text.length * job.input.times) },
    sum: { process: async ({ job, complete }) => complete(job.blockers.map(({ output }) => output).join('+')) },
  })
  const chain = await client.startJobChain({
    typeName: 'sum',
    input: null,
    startBlockers: async ({ startJobChain }) => [
      await startJobChain({ typeName: 'measure', input: { text: 'one', times: '1' } }),
      await startJobChain({ typeName: 'measure', input: { text: 'three', times: '2' } }),
    ],
  })
  assert.equal((await client.waitForJobChainCompletion(chain, { timeoutMs })).output, '3+10')
})
