// A job whose stored bytes cannot be decoded, by another version or a bad disk, hides no other job of a list.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { createClient, defineJobTypes } from 'holdfast/chains'

const types = defineJobTypes<{ step: { entry: true; input: number; output: number } }>()
const retention = { completedMs: 1e6, failedMs: 1e6, cancelledMs: 1e6 }
const broken = new Uint8Array([0xff, 0x7b])

test('lists have a job with undecodable input or output, and the others', async (t) => {
  const storage = new MemoryStorage()
  const client = await createClient({ storage, jobTypeRegistry: types })
  t.after(() => client.close())
  await client.startJobChain({ typeName: 'step', id: 'good', input: 1 })
  await storage.add([{ type: 'chain.step', id: 'input', token: 'a', retention, payload: broken }])
  await storage.add([
    { type: 'chain.step', id: 'output', token: 'b', retention, payload: Buffer.from('2'), priority: 5 },
  ])
  const { jobs } = await storage.claim({ worker: 'w', slots: 1, types: [{ type: 'chain.step', leaseMs: 1e6 }] })
  await storage.settle([
    { type: 'chain.step', id: 'output', worker: 'w', attempt: jobs[0]!.attempt, kind: 'completed', result: broken },
  ])

  const chains = new Map((await client.listJobChains()).items.map((chain) => [chain.id, chain]))
  assert.deepEqual([...chains.keys()].toSorted(), ['good', 'input', 'output'])
  assert.equal(chains.get('good')?.input, 1)
  assert.equal(chains.get('good')?.undecodable, undefined)
  assert.deepEqual(chains.get('input')?.undecodable?.input?.bytes, broken)
  assert.match(chains.get('output')?.undecodable?.output?.reason ?? '', /cannot be decoded/)
  assert.equal(chains.get('output')?.input, 2)

  const found = new Map((await client.listJobs()).items.map((job) => [job.id, job]))
  assert.deepEqual([...found.keys()].toSorted(), ['good', 'input', 'output'])
  assert.equal(found.get('input')?.input, null)
  assert.deepEqual(found.get('input')?.undecodable?.input?.bytes, broken)
})
