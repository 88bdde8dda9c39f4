// A healthy job of any length runs once with the defaults: its lease is renewed while it lasts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { createClient, createInProcessWorker, defineJobTypes } from 'holdfast/chains'
import { fakeClock } from 'holdfast/testing'

test('a job of 45 s, and one of 200 s, run once with the defaults, beside a second worker', async () => {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  const jobTypeRegistry = defineJobTypes<{ wait: { entry: true; input: number; output: string } }>()
  const client = await createClient({ storage, jobTypeRegistry, clock })
  const runs: number[] = []
  const newWorker = () =>
    createInProcessWorker({
      storage,
      jobTypeRegistry,
      clock,
      jobTypeProcessors: {
        wait: {
          process: async ({ job, complete }) => {
            runs.push(job.input)
            await new Promise<void>((resolve) => void clock.after(job.input, resolve))
            return complete('done')
          },
        },
      },
    })
  const workers = [await newWorker(), await newWorker()]
  for (const worker of workers) await worker.start()
  const chains = [
    await client.startJobChain({ typeName: 'wait', input: 45_000 }),
    await client.startJobChain({ typeName: 'wait', input: 200_000 }),
  ]
  await clock.advance(400_000)
  for (const chain of chains) assert.equal((await client.getJobChain(chain))?.state, 'completed')
  assert.deepEqual(
    runs.toSorted((a, b) => a - b),
    [45_000, 200_000],
  )
  const stopped = Promise.all(workers.map((worker) => worker.stop()))
  await clock.advance(60_000)
  await stopped
})
