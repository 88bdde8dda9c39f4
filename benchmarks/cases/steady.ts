// steady: adding and working at the same time. A memory queue is one process, so both are in it.

import { setTimeout as sleep } from 'node:timers/promises'
import { byJobs, type Case, type Measure } from '../case.ts'
import { type Contender, type Session, usualSettings } from '../contender.ts'
import { epochNow, idOf, type Limits, paceMeasures, type Payload, payloadOf, startClock, Tally } from '../load.ts'
import { newPlace } from '../place.ts'
import { percentile } from '../statistics.ts'

/** Accepted and not yet completed, at most. */
const backlogLimit = 1_000
const addsInFlight = 100
const jobsPerSecond = 100

export const steady: Case = {
  name: 'steady',
  about:
    'Producer and worker at once: throughput with at most 1,000 jobs accepted and not completed (100 adds in flight, ' +
    'concurrency 100), and the time from the call of add to the start of the handler at 100 jobs/s (concurrency 10).',
  variants: [
    { name: 'throughput', ...byJobs, run: throughput },
    { name: 'latency at 100 jobs/s', warmUp: ({ jobs }) => ({ jobs, seconds: 1 }), run: latency },
  ],
}

async function throughput(contender: Contender, limits: Limits): Promise<readonly Measure[]> {
  const session = await contender.setup(usualSettings, newPlace())
  const room = new Room(backlogLimit)
  const tally = new Tally(limits, () => room.leave())
  const stop = startClock()
  await session.consume(100, tally)
  tally.expect(await addWithRoom(session, room, limits))
  const pace = stop(await tally.over())
  await session.close()
  tally.verify()
  return paceMeasures('throughput', pace)
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

  leave(): void {
    this.#left++
    this.#waiting.shift()?.()
  }

  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}

async function latency(contender: Contender, { seconds }: Limits): Promise<readonly Measure[]> {
  const session = await contender.setup(usualSettings, newPlace())
  const jobs = jobsPerSecond * seconds
  const latencies: number[] = []
  const tally = new Tally({ jobs, seconds: 2 * seconds })
  await session.consume(10, {
    onStart(payload: Payload) {
      latencies.push(epochNow() - payload.at)
      tally.onStart(payload)
    },
    onCompleted: tally.onCompleted,
  })
  const adds: Promise<void>[] = []
  const begun = performance.now()
  for (let n = 0; n < jobs; n++) {
    // By the clock, not by the last one: a late timer does not slow the producer down.
    const wait = begun + (n * 1_000) / jobsPerSecond - performance.now()
    if (wait > 0) await sleep(wait)
    adds.push(session.add(idOf(n), payloadOf(n)))
  }
  await Promise.all(adds)
  await tally.over()
  await session.close()
  tally.verify()
  return [
    { name: 'p50', unit: 'ms', value: percentile(latencies, 0.5) },
    { name: 'p99', unit: 'ms', value: percentile(latencies, 0.99) },
  ]
}
