// rtt: request and response through the queue, between processes. The worker has a slot for every request in flight.

import { byJobs, type Case, type Measure, type Variant } from '../case.ts'
import { type Entrant, handlerResult, usualSettings } from '../contender.ts'
import { idOf, type Limits, paceMeasures, payloadOf, startClock } from '../load.ts'
import { newPlace } from '../place.ts'
import { percentile } from '../statistics.ts'
import { startWorker } from '../worker.ts'

const concurrency = 64
/** Longer than usual: one at a time, few requests run in a second, and what runs seldom is compiled late. */
const warmUpSeconds = 3

export const rtt: Case = {
  name: 'rtt',
  about:
    'Request and response: a job is added and its result awaited, one at a time and 64 at a time; the worker is in ' +
    'another process (memory: in the same one).',
  variants: [inFlight('serial', 1), inFlight('64 in flight', 64)],
}

function inFlight(name: string, count: number): Variant {
  return {
    name,
    ...byJobs,
    warmUp: ({ jobs }) => ({ jobs, seconds: warmUpSeconds, isWarmUp: true }),
    run: (contender, limits) => measure(contender, count, limits),
  }
}

async function measure(
  contender: Entrant,
  count: number,
  { jobs, seconds }: Limits,
): Promise<readonly Measure[] | undefined> {
  const place = newPlace()
  const session = await contender.setup(usualSettings, place)
  if (!session.request) return undefined
  const order = { settings: usualSettings, concurrency, limits: { jobs, seconds: 2 * seconds } }
  const working = await startWorker(contender, session, place, order)
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
      if (result !== handlerResult) throw new Error(`${idOf(n)}: expected the handler's result, got ${String(result)}`)
    }
  }
  await Promise.race([Promise.all(Array.from({ length: count }, lane)), working.failure])
  const pace = stop(next)
  working.expect(next)
  const { cpuMs } = await working.over()
  await session.close()
  await working.close()
  return [
    { name: 'p50', unit: 'ms', value: percentile(times, 0.5) },
    { name: 'p99', unit: 'ms', value: percentile(times, 0.99) },
    ...paceMeasures('throughput', { ...pace, cpuMs: pace.cpuMs + cpuMs }),
  ]
}
