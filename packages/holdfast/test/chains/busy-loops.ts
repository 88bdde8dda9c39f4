// As queue/busy-loops.ts, on chains: loops of calls without another await let the worker of the same process run.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineJobTypes } from 'holdfast/chains'
import { chainBench } from './bench.ts'
import { sleep } from '../queue/driver.ts'
import type { ChainDriver } from './driver.ts'

const types = defineJobTypes<{ job: { entry: true; input: number; output: number } }>()

const [mostReads, mostStarts] = [1_000_000, 50_000]

export function busyLoopTests(driver: ChainDriver): void {
  describe('busy loops', () => {
    test('a loop of any read until the chain has completed ends', async (t) => {
      const { client, work } = await chainBench(t, driver, types)
      await work({ job: { process: async ({ complete }) => sleep(5).then(() => complete(1)) } })
      const reads = {
        getJobChain: async (id: string) => (await client.getJobChain({ typeName: 'job', id }))?.state === 'completed',
        getJob: async (id: string) => (await client.getJob({ typeName: 'job', id }))?.state === 'completed',
        listJobs: async (id: string) => {
          const { items } = await client.listJobs({ filter: { state: ['completed'] } })
          return items.some((job) => job.id === id)
        },
        listJobChains: async (id: string) => {
          const { items } = await client.listJobChains({ filter: { state: ['completed'] } })
          return items.some((chain) => chain.id === id)
        },
      }
      for (const [name, isDone] of Object.entries(reads)) {
        const { id } = await client.startJobChain({ typeName: 'job', input: 1 })
        for (let calls = 0; !(await isDone(id)); calls++) assert.ok(calls < mostReads, `${name}: the job never ran`)
      }
    })

    test('a loop of startJobChain() lets the worker of the same process run', async (t) => {
      const { client, work, told } = await chainBench(t, driver, types)
      await work({ job: { process: async ({ complete }) => sleep(5).then(() => complete(1)) } })
      for (let started = 0; told('jobCompleted').length === 0; started++) {
        assert.ok(started < mostStarts, 'no job ran')
        await client.startJobChain({ typeName: 'job', input: started })
      }
    })
  })
}
