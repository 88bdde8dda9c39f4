// A bad call to an async function rejects with INVALID_ARGUMENT: no method throws at once, and none fails in another way.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { createClient, createInProcessWorker, defineJobTypes } from 'holdfast/chains'

const types = defineJobTypes<{
  step: { entry: true; input: null; output: null; continueWith: { typeName: 'step' }; blockers: { typeName: 'step' }[] }
}>()
const storage = new MemoryStorage()
const invalid = { name: 'TypeError', code: 'INVALID_ARGUMENT' }
const nonsense = [undefined, null, 5, 'x', [], {}, { typeName: 5 }, { typeName: 'step', id: '' }, { nothing: 1 }]

/** Fails too if the call throws: then there is no promise. */
async function rejects(name: string, call: () => Promise<unknown>, argument: unknown): Promise<void> {
  let promise: Promise<unknown>
  try {
    promise = call()
  } catch (error) {
    return assert.fail(`${name}(${JSON.stringify(argument)}) threw: ${String(error)}`)
  }
  await assert.rejects(promise, invalid, `${name}(${JSON.stringify(argument)})`)
}

test('every method of a client', async (t) => {
  const client = await createClient({ storage, jobTypeRegistry: types })
  t.after(() => client.close())
  const methods = [
    'startJobChain',
    'startJobChains',
    'getJobChain',
    'getJob',
    'completeJobChain',
    'waitForJobChainCompletion',
    'cancelJobChain',
    'deleteJobChains',
    'triggerJob',
    'withNotify',
  ] as const
  for (const name of methods) {
    const method = client[name].bind(client) as (...args: unknown[]) => Promise<unknown>
    for (const argument of nonsense) await rejects(name, () => method(argument, argument), argument)
  }
  for (const name of ['listJobChains', 'listJobs'] as const) {
    for (const argument of [null, 5, 'x', [], { nothing: 1 }, { filter: 5 }, { filter: { typeName: [5] } }]) {
      await rejects(name, () => client[name](argument as never), argument)
    }
  }
  await rejects('startJobChains', () => client.startJobChains({ items: [null] } as never), [null])
  await rejects('getJob', () => client.getJob({ typeName: 'step', id: 'x', tx: {} } as never), 'a tx')
})

test('every function that handlers and callbacks are given', async (t) => {
  const client = await createClient({ storage, jobTypeRegistry: types })
  const worker = await createInProcessWorker({
    storage,
    jobTypeRegistry: types,
    jobTypeProcessors: {
      step: {
        process: async ({ prepare, complete }) => {
          for (const argument of nonsense) await rejects('prepare', () => prepare(argument as never), argument)
          return complete(null)
        },
      },
    },
  })
  await worker.start()
  t.after(async () => {
    await worker.stop()
    await client.close()
  })
  const chain = await client.startJobChain({
    typeName: 'step',
    input: null,
    startBlockers: async ({ startJobChain }) => {
      for (const argument of nonsense) await rejects('startJobChain', () => startJobChain(argument as never), argument)
      return []
    },
  })
  assert.equal((await client.waitForJobChainCompletion(chain, { timeoutMs: 10_000 })).output, null)

  const other = await client.startJobChain({ typeName: 'step', input: null, delayMs: 60_000, blockers: [] })
  await client.completeJobChain({
    typeName: 'step',
    id: other.id,
    complete: async ({ job, complete }) => {
      for (const argument of nonsense) {
        await rejects('complete', () => complete(argument as never, async () => null), argument)
        await rejects('complete', () => complete(job, argument as never), argument)
      }
      for (const argument of nonsense) {
        const completing = complete(job, ({ continueWith }) => continueWith(argument as never))
        await assert.rejects(completing, invalid)
      }
    },
  })
})

test('stop and run of a worker, createClient and createInProcessWorker', async () => {
  const options = {
    storage,
    jobTypeRegistry: types,
    jobTypeProcessors: { step: { process: async () => null as never } },
  }
  const worker = await createInProcessWorker(options)
  const stop = await worker.start()
  for (const argument of [null, 5, 'x', [], { nothing: 1 }, { graceMs: -1 }, { deadlineMs: 0.5 }]) {
    await rejects('stop', () => stop(argument as never), argument)
    await rejects('worker.stop', () => worker.stop(argument as never), argument)
    await rejects('worker.run', () => worker.run(argument as never), argument)
  }
  await worker.stop({ graceMs: 0 })
  for (const argument of nonsense) {
    await rejects('createClient', () => createClient(argument as never), argument)
    await rejects('createInProcessWorker', () => createInProcessWorker(argument as never), argument)
  }
})
