// A filled queue, drained by several worker processes of one contender.

import type { Measure, Variant } from '../case.ts'
import { byJobs } from '../case.ts'
import { type Entrant, usualSettings } from '../contender.ts'
import { addInFlight, type Limits, startClock } from '../load.ts'
import { newPlace } from '../place.ts'
import { WorkerProcess } from '../worker.ts'

const concurrency = 100

export const processesBaseline = '1 worker process'

export function processes(name: string, count: number): Variant {
  return {
    name,
    ...byJobs,
    isFor: (driver) => driver !== 'memory',
    isOf: ({ isPeer }) => !isPeer,
    baseline: processesBaseline,
    run: (contender, limits) => drain(contender, limits, workersOf(count)),
  }
}

/** The same for all runs of a measurement, so that their code is compiled. They end with this process. */
function workersOf(count: number): readonly WorkerProcess[] {
  while (known.length < count) known.push(new WorkerProcess())
  return known.slice(0, count)
}

const known: WorkerProcess[] = []

async function drain(
  contender: Entrant,
  limits: Limits,
  workers: readonly WorkerProcess[],
): Promise<readonly Measure[]> {
  const place = newPlace()
  const session = await contender.setup(usualSettings, place)
  const { jobs } = await addInFlight(session, 100, limits)
  const completed = workers.map(() => 0)
  const sum = (): number => completed.reduce((total, count) => total + count, 0)
  const all = Promise.withResolvers<void>()
  const overs = workers.map((worker) => worker.next('over'))
  const opened = workers.map((worker) => worker.next('opened'))
  for (const [index, worker] of workers.entries()) {
    worker.onCompleted = (count) => {
      completed[index]! += count
      if (sum() >= jobs) all.resolve()
    }
    // None of them knows how many the others run.
    const order = { settings: usualSettings, concurrency, limits: { jobs, seconds: 10 * limits.seconds } }
    worker.send({ kind: 'open', file: contender.file, place, waits: true, ...order })
  }
  await Promise.all(opened)
  const late = setTimeout(all.resolve, limits.seconds * 1_000)
  const stop = startClock()
  for (const worker of workers) worker.send({ kind: 'begin' })
  await Promise.race([all.promise, ...workers.map(({ failure }) => failure)])
  clearTimeout(late)
  const { ms } = stop(jobs)
  const done = sum()
  for (const worker of workers) worker.send({ kind: 'end' })
  const cpuMs = (await Promise.all(overs)).reduce((total, over) => total + over.cpuMs, 0)
  const closed = workers.map((worker) => worker.next('closed'))
  for (const worker of workers) worker.send({ kind: 'close' })
  const runs = (await Promise.all(closed)).flatMap(({ ran }) => ran)
  await session.close()
  verify(runs, done, jobs)
  return [
    { name: 'drain', unit: 'jobs/s', value: (done * 1_000) / ms },
    { name: 'per core in use', unit: 'jobs/s', value: (done * 1_000) / cpuMs },
  ]
}

/** @throws unless every job ran once, or at most once if time ran out */
function verify(runs: readonly number[], completed: number, jobs: number): void {
  const repeated = runs.length - new Set(runs).size
  if (repeated > 0) throw new Error(`${repeated} jobs ran more than once`)
  if (completed >= jobs && runs.length !== jobs) throw new Error(`${runs.length} of ${jobs} jobs ran`)
}
