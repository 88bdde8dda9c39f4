// On SQLite an open transaction keeps all others from writing: attempts that need one wait for a slot, and none fails because the
// storage did not answer.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { defineJobTypes } from 'holdfast/chains'
import { SqliteStorage } from 'holdfast/sqlite'
import { sleep } from '../queue/driver.ts'
import { chainBench, wait } from './bench.ts'

const types = defineJobTypes<{ step: { entry: true; input: null; output: number } }>()

test('ten attempts with transactions of 60 ms, on a storage that waits for 400: each runs once', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-turns-'))
  const { client, work } = await chainBench(
    t,
    {
      name: 'sqlite',
      open: async () => ({
        storage: new SqliteStorage({ path: join(directory, 'jobs.db'), callTimeoutMs: 400 }),
        close: () => rm(directory, { recursive: true, force: true }),
      }),
    },
    types,
  )
  const items = Array.from({ length: 10 }, () => ({ typeName: 'step' as const, input: null }))
  const chains = await client.startJobChains({ items })
  await work(
    {
      step: {
        process: async ({ job, prepare, complete }) => {
          await prepare({ mode: 'atomic' })
          await sleep(60)
          return complete(job.attempt)
        },
      },
    },
    { concurrency: 10 },
  )
  const done = await Promise.all(chains.map((chain) => client.waitForJobChainCompletion(chain, wait)))
  assert.ok(done.every(({ output }) => output === 1))
})
