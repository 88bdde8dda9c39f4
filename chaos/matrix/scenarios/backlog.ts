// A backlog that is due at once: a claim must not cost more than twice what it costs with 1,000 jobs.

import type { Storage } from 'holdfast'
import { Queue } from 'holdfast'
import { typeOf } from '../../jobs.ts'
import { openPlace } from '../open-place.ts'
import type { ScenarioContext, ScenarioResult } from './scenario.ts'

const few = 1_000
const most = 2

export async function run({ driver, directory, seconds }: ScenarioContext): Promise<ScenarioResult> {
  const many = Math.min(1_000_000, 5_000 * Math.max(4, seconds))
  const place = await openPlace(driver, directory)
  const storage = await place.open()
  const queue = new Queue<number>({ storage, name: 'kept' })
  await storage.connect()
  const add = async (from: number, to: number): Promise<void> => {
    for (let first = from; first < to; first += 1_000) {
      const items = Array.from({ length: Math.min(1_000, to - first) }, (_, index) => ({
        id: `b${first + index}`,
        payload: 1,
      }))
      await queue.enqueueMany(items)
    }
  }
  await add(0, few)
  const small = await claimMs(storage)
  await add(few, many)
  const large = await claimMs(storage)
  await queue.stop()
  await storage.disconnect()
  await place.stop()
  const ratio = large / small
  const figures = `claim of 10 with ${few} jobs ${small.toFixed(2)} ms, with ${many} ${large.toFixed(2)} ms: ${ratio.toFixed(2)} times`
  // Below half a millisecond the difference is that of the clock.
  return { faults: 1, violations: ratio > most && large > 0.5 ? [figures] : [], note: figures }
}

/** A fast one of 30, after some that warm up: others may have waited for the machine. The jobs stay claimed. */
async function claimMs(storage: Storage): Promise<number> {
  const times: number[] = []
  for (let turn = 0; turn < 40; turn++) {
    const from = performance.now()
    const { jobs } = await storage.claim({
      worker: `w${turn}`,
      slots: 10,
      types: [{ type: typeOf('kept'), leaseMs: 600_000 }],
    })
    if (turn >= 10) times.push(performance.now() - from)
    if (jobs.length !== 10) throw new Error(`a claim of 10 has ${jobs.length} jobs`)
  }
  return times.toSorted((one, other) => one - other)[3]!
}
