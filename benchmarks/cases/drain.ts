// drain: how fast one worker drains a filled queue, from its start until the last completion is recorded.

import { byJobs, type Case, type Measure, type Variant } from '../case.ts'
import { type Contender, usualSettings } from '../contender.ts'
import { addInFlight, type Limits, paceMeasures, startClock, Tally } from '../load.ts'
import { newPlace } from '../place.ts'

export const drain: Case = {
  name: 'drain',
  about: 'Jobs per second of one worker on a filled queue, from its start until the last completion is recorded.',
  variants: [1, 10, 100].map(withConcurrency),
}

function withConcurrency(concurrency: number): Variant {
  return {
    name: `concurrency ${concurrency}`,
    ...byJobs,
    run: (contender, limits) => measure(contender, concurrency, limits),
  }
}

async function measure(contender: Contender, concurrency: number, limits: Limits): Promise<readonly Measure[]> {
  const session = await contender.setup(usualSettings, newPlace())
  const { jobs } = await addInFlight(session, 100, limits)
  await session.prepare?.(concurrency)
  const tally = new Tally({ jobs, seconds: limits.seconds })
  const stop = startClock()
  await session.consume(concurrency, tally)
  const pace = stop(await tally.over())
  await session.close()
  tally.verify()
  return paceMeasures('drain', pace)
}
