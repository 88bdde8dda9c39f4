// size: the bytes of a job while it waits, after it completed, and after it expired and was swept.

import { byJobs, type Case, type Measure } from '../case.ts'
import { type Contender, type Session, usualSettings } from '../contender.ts'
import { addInFlight, type Limits, Tally } from '../load.ts'
import { newPlace } from '../place.ts'

/** Time limit for all jobs to complete: time is not measured. */
const drainSeconds = 60
/** Number of jobs on disk, so that the slowest contender completes them. A heap needs more jobs against its noise. */
const mostJobsOnDisk = 1_000

export const size: Case = {
  name: 'size',
  about:
    'Bytes per job: waiting (payload of about 100 bytes included), completed with its result kept, and left behind ' +
    'after expiry and sweep. In memory: growth of the heap and of buffers after a full collection. On disk: blocks in ' +
    'use by the files; for SQLite, after a checkpoint and without free pages. Redis: used_memory without that of ' +
    'connections and scripts. Postgres: tables and indexes after a vacuum.',
  variants: [{ name: 'per job', warmUp: byJobs.warmUp, run: measure }],
}

async function measure(contender: Contender, given: Limits): Promise<readonly Measure[]> {
  const limits = contender.durability ? { ...given, jobs: Math.min(given.jobs, mostJobsOnDisk) } : given
  const kept = await stages(contender, limits, usualSettings.resultTtlMs)
  const swept = await stages(contender, limits, 1)
  return [
    { name: 'waiting', unit: 'bytes/job', value: kept.waiting },
    { name: 'completed', unit: 'bytes/job', value: kept.completed },
    { name: 'left after sweep', unit: 'bytes/job', value: swept.completed },
  ]
}

async function stages(
  contender: Contender,
  limits: Limits,
  resultTtlMs: number,
): Promise<{ waiting: number; completed: number }> {
  const tally = new Tally({ jobs: limits.jobs, seconds: drainSeconds })
  const session = await contender.setup({ ...usualSettings, resultTtlMs }, newPlace())
  const before = await bytesOf(session)
  const { jobs } = await addInFlight(session, 100, limits)
  const waiting = await bytesOf(session)
  tally.expect(jobs)
  await session.consume(100, tally)
  if ((await tally.over()) < jobs) throw new Error(`not all of ${jobs} jobs completed in time`)
  await session.sweep()
  const completed = await bytesOf(session)
  await session.close()
  tally.verify()
  return { waiting: (waiting - before) / jobs, completed: (completed - before) / jobs }
}

async function bytesOf(session: Session): Promise<number> {
  if (session.storedBytes) return session.storedBytes()
  // Twice, in separate turns of the event loop: the first frees what the second collects.
  for (let pass = 0; pass < 2; pass++) {
    globalThis.gc!()
    await new Promise<void>((resolve) => void setImmediate(resolve))
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
