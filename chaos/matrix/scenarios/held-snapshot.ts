// A transaction holds its snapshot while jobs come and go: their dead rows stay, and a claim must not cost five times as much.

import { PostgresStorage } from 'holdfast/postgres'
import { Queue } from 'holdfast'
import { typeOf } from '../../jobs.ts'
import type { Tx } from '../../user-rows.ts'
import { openPlace } from '../open-place.ts'
import type { ScenarioContext, ScenarioResult } from './scenario.ts'

const most = 5

export async function run({ directory, seconds }: ScenarioContext): Promise<ScenarioResult> {
  const place = await openPlace('postgres', directory)
  const storage = await place.open()
  await storage.connect()
  const queue = new Queue<number>({ storage, name: 'kept', retention: { completed: { ageMs: 0 } } })
  const before = await churn(storage, queue, 2_000)
  const holder = new PostgresStorage({ url: place.url! })
  await holder.connect()
  const held = Promise.withResolvers<void>()
  const holding = holder.transaction(async (tx) => {
    await (tx as unknown as Tx).query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
    await (tx as unknown as Tx).query('SELECT count(*)::text AS c0 FROM holdfast.jobs')
    await held.promise
  })
  const jobs = Math.min(100_000, Math.max(10_000, 1_000 * seconds))
  const after = await churn(storage, queue, jobs)
  held.resolve()
  await holding
  await holder.disconnect()
  await queue.stop()
  await storage.disconnect()
  await place.stop()
  const figures = `claim p50 ${before.toFixed(2)} ms, with ${jobs} dead jobs ${after.toFixed(2)} ms`
  return { faults: 1, violations: after > most * before ? [figures] : [], note: figures }
}

/** Adds, claims and completes so many jobs. @returns the median of the last claims, ms */
async function churn(
  storage: Awaited<ReturnType<Awaited<ReturnType<typeof openPlace>>['open']>>,
  queue: Queue<number>,
  jobs: number,
) {
  const times: number[] = []
  for (let done = 0; done < jobs; done += 500) {
    await queue.enqueueMany(Array.from({ length: 500 }, (_, index) => ({ id: `${jobs}-${done + index}`, payload: 1 })))
    for (let left = 500; left > 0;) {
      const from = performance.now()
      const { jobs: found } = await storage.claim({
        worker: 'w',
        slots: 100,
        types: [{ type: typeOf('kept'), leaseMs: 60_000 }],
      })
      times.push(performance.now() - from)
      await storage.settle(
        found.map(
          ({ type, id, worker, attempt }) => ({ kind: 'completed', type, id, worker, attempt, keepMs: 0 }) as never,
        ),
      )
      await storage.sweep({ limit: 1_000 })
      left -= found.length
    }
  }
  return times.slice(-20).toSorted((one, other) => one - other)[10]!
}
