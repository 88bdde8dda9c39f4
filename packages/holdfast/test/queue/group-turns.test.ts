// Turns of groups in a long backlog: a job waits for at most one start of each other group, however many jobs those have.

import assert from 'node:assert/strict'
import { after, describe, test, type TestContext } from 'node:test'
import { Queue, type Storage } from 'holdfast'
import { defaultType } from 'holdfast/storage'
import { sized } from '../full-size.ts'
import { processDrivers, type ProcessDriver, stopServers } from '../processes/drivers.ts'

after(stopServers)

const [backlog, groups] = [sized(100_000, 1_000), sized(1_000, 50)]
/** One group has nine in ten of the jobs. */
const jobs = 10 * groups

async function bench(t: TestContext, driver: ProcessDriver): Promise<{ queue: Queue<null>; storage: Storage }> {
  const place = await driver.open()
  const [storage, queue] = [place.storage(), new Queue<null>({ storage: place.storage() })]
  await storage.connect()
  t.after(async () => {
    await queue.stop()
    await storage.disconnect()
    await place.close()
  })
  return { queue, storage }
}

/** Adds jobs of groups, in this order. */
async function addAll(queue: Queue<null>, keys: readonly string[]): Promise<void> {
  await queue.enqueueMany(keys.map((group, index) => ({ id: `${group} ${index}`, payload: null, group })))
}

/** The groups of the next starts, in the order of the claims. They go on running. */
async function starts(storage: Storage, count: number, slots: number): Promise<string[]> {
  const types = [{ type: defaultType, leaseMs: 3_600_000 }]
  const found: string[] = []
  while (found.length < count) {
    const { jobs: claimed } = await storage.claim({ worker: `w/${found.length}`, slots, types })
    assert.ok(claimed.length > 0, `expected ${count} starts, got ${found.length}`)
    found.push(...claimed.map(({ group }) => group!))
  }
  return found
}

function tests(driver: ProcessDriver): void {
  test(`[F24] ${driver.name}: a job behind ${backlog} of another group starts first or second`, async (t) => {
    const { queue, storage } = await bench(t, driver)
    await addAll(
      queue,
      Array.from({ length: backlog }, () => 'a'),
    )
    await addAll(queue, ['b'])
    assert.ok((await starts(storage, 2, 1)).includes('b'))
  })

  test(`[F24] ${driver.name}: ${groups} groups, one with 90 % of the jobs: each head waits at most ${groups - 1} starts`, async (t) => {
    const { queue, storage } = await bench(t, driver)
    const big = Array.from({ length: jobs * 0.9 }, () => 'big')
    const small = Array.from({ length: jobs * 0.1 }, (_, index) => `g${index % (groups - 1)}`)
    await addAll(queue, [...big, ...small])
    const first = await starts(storage, groups, Math.ceil(groups / 7))
    assert.equal(new Set(first.slice(0, groups)).size, groups)
  })
}

describe('turns of groups', () => {
  for (const name of ['memory', 'sqlite', 'file', 'redis', 'postgres'] as const) tests(processDrivers[name])
})
