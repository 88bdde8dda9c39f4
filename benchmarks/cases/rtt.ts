// rtt: request and response through the queue. The worker has room for all that is in flight.

import { byJobs, type Case, type Measure, type Variant } from '../case.ts'
import { type Contender, handlerResult, usualSettings } from '../contender.ts'
import { idOf, type Limits, paceMeasures, payloadOf, startClock, Tally } from '../load.ts'
import { newPlace } from '../place.ts'
import { percentile } from '../statistics.ts'

const concurrency = 64

export const rtt: Case = {
  name: 'rtt',
  about: 'Request and response: a job is added and its result awaited, one after the other and 64 at a time.',
  variants: [inFlight('serial', 1), inFlight('64 in flight', 64)],
}

function inFlight(name: string, count: number): Variant {
  return { name, ...byJobs, run: (contender, limits) => measure(contender, count, limits) }
}

async function measure(
  contender: Contender,
  count: number,
  { jobs, seconds }: Limits,
): Promise<readonly Measure[] | undefined> {
  const session = await contender.setup(usualSettings, newPlace())
  if (!session.request) return undefined
  const tally = new Tally({ jobs, seconds: 2 * seconds })
  await session.consume(concurrency, tally)
  const times: number[] = []
  const stop = startClock()
  const deadline = performance.now() + seconds * 1_000
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < jobs && performance.now() < deadline) {
      const n = next++
      const asked = performance.now()
      const result = await session.request!(idOf(n), payloadOf(n))
      times.push(performance.now() - asked)
      if (result !== handlerResult) throw new Error(`${idOf(n)} was answered with ${String(result)}`)
    }
  }
  await Promise.all(Array.from({ length: count }, lane))
  const pace = stop(next)
  tally.expect(next)
  await tally.over()
  await session.close()
  tally.verify()
  return [
    { name: 'p50', unit: 'ms', value: percentile(times, 0.5) },
    { name: 'p99', unit: 'ms', value: percentile(times, 0.99) },
    ...paceMeasures('throughput', pace),
  ]
}
