// held: adding and working at once for a long time, while another session holds a transaction open. No dead row is removed until it
// ends: a queue that must scan dead rows for its next job gets slower and slower.

import type { Case, Measure, Variant } from '../case.ts'
import { type Entrant, usualSettings } from '../contender.ts'
import { bulkWithRoom, Room } from '../feed.ts'
import type { Limits } from '../load.ts'
import { newPlace } from '../place.ts'
import { startWorker } from '../worker.ts'

/** Multiple of the usual seconds. */
const secondsFactor = 6
/** Share of the whole time, so that the first window is 5 s of 60. */
const windowShare = 1 / 12
/** Limit of accepted and not completed jobs. */
const backlogLimit = 1_000
/** More than any contender completes in that time: the clock ends the run. */
const mostJobsPerSecond = 100_000

const baseline = 'no transaction held'

export const held: Case = {
  name: 'held',
  about:
    'Postgres only. Bulk adds and one worker (concurrency 100) at once, in separate processes, for six times as long as other cases, ' +
    'without and with a transaction that another session holds open from the start: jobs per second in the first twelfth of the ' +
    'time and in the last, and dead rows at the end. Ratios are to the same without it.',
  variants: [variant(baseline, false), variant('a transaction held open', true)],
}

function variant(name: string, isHeld: boolean): Variant {
  return {
    name,
    isFor: (driver) => driver === 'postgres',
    baseline,
    warmUp: ({ jobs }) => ({ jobs, seconds: 0.5 }),
    run: (contender, limits) => measure(contender, limits, isHeld),
  }
}

async function measure(
  contender: Entrant,
  { seconds: given }: Limits,
  isHeld: boolean,
): Promise<readonly Measure[] | undefined> {
  const seconds = secondsFactor * given
  const limits = { jobs: Math.ceil(mostJobsPerSecond * seconds), seconds }
  const place = newPlace()
  const session = await contender.setup(usualSettings, place)
  const release = isHeld ? await session.hold!() : async () => {}
  const room = new Room(backlogLimit)
  const windowMs = windowShare * seconds * 1_000
  const windows: number[] = []
  // Slightly longer, so that the last added jobs complete too.
  const order = { settings: usualSettings, concurrency: 100, limits: { ...limits, seconds: seconds + 30 } }
  let begun = performance.now()
  const working = await startWorker(contender, session, place, order, (jobs) => {
    room.leave(jobs)
    const index = Math.floor((performance.now() - begun) / windowMs)
    windows[index] = (windows[index] ?? 0) + jobs
  })
  // Without the start of the worker.
  begun = performance.now()
  working.expect(await Promise.race([bulkWithRoom(session, room, limits), working.failure]))
  await working.over()
  const deadRows = await session.deadRows!()
  await release()
  await session.close()
  await working.close()
  const rateIn = (index: number): number => ((windows[index] ?? 0) * 1_000) / windowMs
  const last = Math.round(1 / windowShare) - 1
  const note = `in ${(windowMs / 1_000).toFixed(1)} s of ${seconds} s`
  return [
    { name: 'first', unit: 'jobs/s', value: rateIn(0), note },
    { name: 'last', unit: 'jobs/s', value: rateIn(last), note },
    { name: 'dead rows', unit: 'rows', value: deadRows },
  ]
}
