// steady: adding and working at the same time, in separate processes; a memory queue is one process, so both are in it.

import { setTimeout as sleep } from 'node:timers/promises'
import { byJobs, type Case, type Measure } from '../case.ts'
import { type Entrant, type Session, usualSettings } from '../contender.ts'
import { idOf, type Limits, paceMeasures, payloadOf, startClock } from '../load.ts'
import { newPlace } from '../place.ts'
import { percentile } from '../statistics.ts'
import { startWorker } from '../worker.ts'

/** Accepted and not yet completed, at most. */
const backlogLimit = 1_000
const addsInFlight = 100
const jobsPerSecond = 100

export const steady: Case = {
  name: 'steady',
  about:
    'Producer and worker at once, in separate processes (memory: in one): throughput with at most 1,000 jobs accepted and not completed (100 adds in flight, ' +
    'concurrency 100), and the time from the call of add to the start of the handler at 100 jobs/s (concurrency 10).',
  variants: [
    { name: 'throughput', ...byJobs, run: throughput },
    { name: 'latency at 100 jobs/s', warmUp: ({ jobs }) => ({ jobs, seconds: 1 }), run: latency },
  ],
}

async function throughput(contender: Entrant, limits: Limits): Promise<readonly Measure[]> {
  const place = newPlace()
  const session = await contender.setup(usualSettings, place)
  const room = new Room(backlogLimit)
  const order = { settings: usualSettings, concurrency: 100, limits }
  const working = await startWorker(contender, session, place, order, (jobs) => room.leave(jobs))
  const stop = startClock()
  working.expect(await Promise.race([addWithRoom(session, room, limits), working.failure]))
  const { completed, cpuMs } = await working.over()
  const pace = stop(completed)
  await session.close()
  await working.close()
  return paceMeasures('throughput', { ...pace, cpuMs: pace.cpuMs + cpuMs })
}

async function addWithRoom(session: Session, room: Room, { jobs, seconds }: Limits): Promise<number> {
  const deadline = performance.now() + seconds * 1_000
  let next = 0
  const lane = async (): Promise<void> => {
    for (;;) {
      if (!room.enter()) await room.next()
      else if (next === jobs || performance.now() >= deadline) return room.leave()
      else {
        const n = next++
        await session.add(idOf(n), payloadOf(n))
      }
    }
  }
  await Promise.all(Array.from({ length: addsInFlight }, lane))
  return next
}

/** So many at a time; whoever finds none waits for one to leave. */
class Room {
  #left: number
  #waiting: (() => void)[] = []

  constructor(size: number) {
    this.#left = size
  }

  enter(): boolean {
    if (this.#left === 0) return false
    this.#left--
    return true
  }

  leave(count = 1): void {
    this.#left += count
    for (const wake of this.#waiting.splice(0, count)) wake()
  }

  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}

async function latency(contender: Entrant, { seconds }: Limits): Promise<readonly Measure[]> {
  const place = newPlace()
  const session = await contender.setup(usualSettings, place)
  const jobs = jobsPerSecond * seconds
  const limits = { jobs, seconds: 2 * seconds }
  const order = { settings: usualSettings, concurrency: 10, limits }
  const working = await startWorker(contender, session, place, order)
  const adds: Promise<void>[] = []
  const begun = performance.now()
  for (let n = 0; n < jobs; n++) {
    // By the clock, not by the last one: a late timer does not slow the producer down.
    const wait = begun + (n * 1_000) / jobsPerSecond - performance.now()
    if (wait > 0) await sleep(wait)
    adds.push(session.add(idOf(n), payloadOf(n)))
  }
  await Promise.all(adds)
  await working.over()
  await session.close()
  const latencies = await working.close()
  return [
    { name: 'p50', unit: 'ms', value: percentile(latencies, 0.5) },
    { name: 'p99', unit: 'ms', value: percentile(latencies, 0.99) },
  ]
}
