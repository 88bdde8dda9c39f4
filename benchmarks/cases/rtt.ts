// rtt: request and response through the queue, between processes. The worker has a slot for every request in flight.

import type { Case, Measure, Variant } from '../case.ts'
import { type Entrant, handlerResult, type Session, usualSettings } from '../contender.ts'
import { idOf, type Limits, paceMeasures, payloadOf, startClock } from '../load.ts'
import { newPlace } from '../place.ts'
import { percentile } from '../statistics.ts'
import { startWorker } from '../worker.ts'

const concurrency = 64
/** In the same session, and longer than usual: one at a time, few requests run in a second, and what runs seldom is compiled late. */
const warmUp = { jobs: 100_000, seconds: 3 }

export const rtt: Case = {
  name: 'rtt',
  about:
    'Request and response: a job is added and its result awaited, one at a time and 64 at a time; the worker is in ' +
    'another process (memory: in the same one).',
  variants: [inFlight('serial', 1), inFlight('64 in flight', 64)],
}

function inFlight(name: string, count: number): Variant {
  return { name, run: (contender, limits) => measure(contender, count, limits) }
}

async function measure(
  contender: Entrant,
  count: number,
  { jobs, seconds }: Limits,
): Promise<readonly Measure[] | undefined> {
  const place = newPlace()
  const session = await contender.setup(usualSettings, place)
  if (!session.request) return undefined
  const ofWorker = { jobs: warmUp.jobs + jobs, seconds: 2 * (warmUp.seconds + seconds) }
  const order = { settings: usualSettings, concurrency, limits: ofWorker }
  const working = await startWorker(contender, session, place, order)
  const { length: first } = await Promise.race([request(session, count, 0, warmUp), working.failure])
  const warmUpCpuMs = await working.cpuMs()
  const stop = startClock()
  const times = await Promise.race([request(session, count, first, { jobs, seconds }), working.failure])
  const pace = stop(times.length)
  working.expect(first + times.length)
  const { cpuMs } = await working.over()
  await session.close()
  await working.close()
  return [
    { name: 'p50', unit: 'ms', value: percentile(times, 0.5) },
    { name: 'p99', unit: 'ms', value: percentile(times, 0.99) },
    ...paceMeasures('throughput', { ...pace, cpuMs: pace.cpuMs + cpuMs - warmUpCpuMs }),
  ]
}

/** Makes requests number `first` and on, `count` at a time. Resolves with the ms of each. */
async function request(session: Session, count: number, first: number, { jobs, seconds }: Limits): Promise<number[]> {
  const times: number[] = []
  const deadline = performance.now() + seconds * 1_000
  let next = first
  const lane = async (): Promise<void> => {
    while (next < first + jobs && performance.now() < deadline) {
      const n = next++
      const asked = performance.now()
      const result = await session.request!(idOf(n), payloadOf(n))
      times.push(performance.now() - asked)
      if (result !== handlerResult) throw new Error(`${idOf(n)}: expected the handler's result, got ${String(result)}`)
    }
  }
  await Promise.all(Array.from({ length: count }, lane))
  return times
}
