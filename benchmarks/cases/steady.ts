// steady: adding and working at the same time, in separate processes; a memory queue uses one process for both.

import { setTimeout as sleep } from 'node:timers/promises'
import { byJobs, type Case, type Measure } from '../case.ts'
import { type Entrant, usualSettings } from '../contender.ts'
import { addWithRoom, bulkWithRoom, Room } from '../feed.ts'
import { idOf, type Limits, paceMeasures, payloadOf, startClock } from '../load.ts'
import { newPlace } from '../place.ts'
import { percentile } from '../statistics.ts'
import { startWorker } from '../worker.ts'

/** Limit of accepted and not completed jobs. */
const backlogLimit = 1_000
const jobsPerSecond = 100
/** Before the latency is measured: at 100 jobs/s code stays interpreted for minutes, and that of a process that has worked for a while is not. */
const warmUp = { jobs: 20_000, seconds: 2, inFlight: 1, room: 100 }

export const steady: Case = {
  name: 'steady',
  about:
    'Producer and worker at once, in separate processes (memory: in one): throughput with at most 1,000 jobs accepted and not completed (100 adds in flight, ' +
    'concurrency 100; on Postgres also with bulk calls of 100), and the time from the call of add to the start of the handler at 100 jobs/s (concurrency 10).',
  variants: [
    { name: 'throughput', ...byJobs, run: (contender, limits) => throughput(contender, limits, addWithRoom) },
    {
      name: 'throughput, bulk adds',
      // Where a single add costs one commit.
      isFor: (driver) => driver === 'postgres',
      ...byJobs,
      run: (contender, limits) => throughput(contender, limits, bulkWithRoom),
    },
    {
      name: 'latency at 100 jobs/s',
      // Without hints a limit has the latency of its polls.
      isOf: ({ isLimit, handsOver }) => !isLimit || handsOver === true,
      run: latency,
    },
  ],
}

async function throughput(contender: Entrant, limits: Limits, feed: typeof addWithRoom): Promise<readonly Measure[]> {
  const place = newPlace()
  const session = await contender.setup(usualSettings, place)
  const room = new Room(backlogLimit)
  const order = { settings: usualSettings, concurrency: 100, limits }
  const working = await startWorker(contender, session, place, order, (jobs) => room.leave(jobs))
  const stop = startClock()
  working.expect(await Promise.race([feed(session, room, limits), working.failure]))
  const { completed, cpuMs } = await working.over()
  const pace = stop(completed)
  await session.close()
  await working.close()
  return paceMeasures('throughput', { ...pace, cpuMs: pace.cpuMs + cpuMs })
}

async function latency(contender: Entrant, { seconds }: Limits): Promise<readonly Measure[]> {
  const place = newPlace()
  const session = await contender.setup(usualSettings, place)
  const jobs = jobsPerSecond * seconds
  const limits = { jobs: warmUp.jobs + jobs, seconds: 2 * (warmUp.seconds + seconds) }
  const order = { settings: usualSettings, concurrency: 10, limits }
  const room = new Room(warmUp.room)
  const working = await startWorker(contender, session, place, order, (done) => room.leave(done))
  const first = await Promise.race([addWithRoom(session, room, warmUp, warmUp.inFlight), working.failure])
  // All of them have completed.
  while (!room.enter(warmUp.room)) await Promise.race([room.next(), working.failure])
  const adds: Promise<void>[] = []
  const begun = performance.now()
  for (let n = 0; n < jobs; n++) {
    // By the clock, not by the last add: a late timer does not slow the producer down.
    const wait = begun + (n * 1_000) / jobsPerSecond - performance.now()
    if (wait > 0) await sleep(wait)
    adds.push(session.add(idOf(first + n), payloadOf(first + n)))
  }
  working.expect(first + jobs)
  await Promise.all(adds)
  await working.over()
  await session.close()
  const latencies = (await working.close()).slice(first)
  return [
    { name: 'p50', unit: 'ms', value: percentile(latencies, 0.5) },
    { name: 'p99', unit: 'ms', value: percentile(latencies, 0.99) },
  ]
}
