// add: how fast jobs are accepted without a worker. The accepted jobs are then run, to check that all exist.

import { byJobs, type Case, type Measure, type Variant } from '../case.ts'
import { type Contender, type Session, usualSettings } from '../contender.ts'
import { addInFlight, idOf, type Limits, type Pace, paceMeasures, payloadOf, startClock, Tally } from '../load.ts'
import { newPlace } from '../place.ts'

/** Time limit of the check, as a multiple of the time for adding. */
const proofFactor = 3

export const add: Case = {
  name: 'add',
  about: 'Jobs accepted per second by the call for one job, and by the bulk call where there is one.',
  variants: [
    single('single adds, one at a time', 1),
    single('single adds, 100 in flight', 100),
    // Not a bulk call: a thousand concurrent calls for one job each.
    single('single adds, 1,000 in flight', 1_000),
    { name: 'bulk call, 1,000 each', ...byJobs, run: (contender, limits) => measure(contender, limits, inBulk) },
  ],
}

function single(name: string, inFlight: number): Variant {
  const adding = (session: Session, limits: Limits): Promise<Pace> => addInFlight(session, inFlight, limits)
  return { name, ...byJobs, run: (contender, limits) => measure(contender, limits, adding) }
}

async function measure(
  contender: Contender,
  limits: Limits,
  adding: (session: Session, limits: Limits) => Promise<Pace> | undefined,
): Promise<readonly Measure[] | undefined> {
  const session = await contender.setup(usualSettings, newPlace())
  const pace = await adding(session, limits)
  const isChecked = pace && !limits.isWarmUp
  const tally = isChecked && (await runAll(session, { jobs: pace.jobs, seconds: proofFactor * limits.seconds }))
  await session.close()
  if (tally) tally.verify()
  return pace && paceMeasures('add', pace)
}

function inBulk(session: Session, limits: Limits): Promise<Pace> | undefined {
  return session.addMany && addThousands(session, limits)
}

async function addThousands(session: Session, { jobs, seconds }: Limits): Promise<Pace> {
  const stop = startClock()
  const deadline = performance.now() + seconds * 1_000
  let added = 0
  while (added < jobs && performance.now() < deadline) {
    const count = Math.min(1_000, jobs - added)
    const batch = Array.from({ length: count }, (_, index) => added + index)
    await session.addMany!(batch.map((n) => ({ id: idOf(n), payload: payloadOf(n) })))
    added += count
  }
  return stop(added)
}

/** Runs as many jobs as time allows: some peers would need minutes for all. */
async function runAll(session: Session, limits: Limits): Promise<Tally> {
  const tally = new Tally(limits)
  await session.consume(100, tally)
  await tally.over()
  return tally
}
