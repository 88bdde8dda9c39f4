// chains: typed job chains, Holdfast only. Ratios compare the ways to complete a job, in one run.

import { setTimeout as sleep } from 'node:timers/promises'
import { byJobs, type Case, type Measure, type Variant } from '../case.ts'
import { type Contender, usualSettings } from '../contender.ts'
import { type Limits, paceMeasures, startClock } from '../load.ts'
import { newPlace } from '../place.ts'
import { percentile } from '../statistics.ts'
import { type Bench, openChains, type Way } from '../sessions/chains.ts'

const baseline = 'run batched, concurrency 10'
const isShared = (driver: string): boolean => driver !== 'memory'
/** Peers have no chains. */
const hasContract = ({ openStorage }: Contender): boolean => openStorage !== undefined
const hasTransactions = (driver: string): boolean => driver === 'postgres' || driver === 'sqlite'

export const chains: Case = {
  name: 'chains',
  about:
    'Chains: starting them, running their jobs (batched: complete(output); staged and atomic: in their own transaction, where the storage has them), ' +
    'fan-in of two, a chain of five, and on Postgres the statements per job. Ratios are to running batched with concurrency 10.',
  variants: [
    variant('start single, 100 in flight', (bench, limits) => starting(bench, limits, 1, 100)),
    variant('start in batches of 100', (bench, limits) => starting(bench, limits, 100, 4)),
    ...[1, 10, 50].map((concurrency) => running('batched', concurrency)),
    ...[1, 10, 50].flatMap((concurrency) => [running('staged', concurrency), running('atomic', concurrency)]),
    { ...running('batched', 10, 4), isFor: isShared },
    waiting('1k', 1_000),
    waiting('1M', 1_000_000),
    variant('fan-in of two', fanIn),
    variant('chain of five', chainOfFive),
    { ...variant('latency at 100 chains/s', latency), repeatFor: undefined },
    statements('statements, batched', running10('batched')),
    statements('statements, complete(callback)', running10('staged')),
    statements('statements, start in a transaction', (bench, { jobs, seconds }) =>
      bench.startInTransactions(Math.min(jobs, 1_000), seconds),
    ),
  ],
}

function variant(name: string, run: (bench: Bench, limits: Limits) => Promise<readonly Measure[]>): Variant {
  return {
    name,
    isOf: hasContract,
    ...byJobs,
    baseline: name === baseline ? undefined : baseline,
    run: async (contender: Contender, limits) => {
      const storage = await contender.openStorage?.(newPlace())
      if (!storage) return undefined
      const bench = await openChains(storage)
      try {
        return await run(bench, limits)
      } finally {
        await bench.close()
      }
    },
  }
}

function running(way: Way, concurrency: number, workers = 1): Variant {
  const name = `run ${way}, concurrency ${concurrency}${workers === 1 ? '' : `, ${workers} workers`}`
  const run = variant(name, async (bench, { jobs, seconds }) => {
    const added = await bench.add(jobs, seconds)
    return paced(bench, 'run', { jobs: added, seconds }, { way, concurrency, workers })
  })
  return way === 'batched' ? run : { ...run, isFor: hasTransactions }
}

/** The backlog stays about the same: there are more jobs than time. */
function waiting(name: string, count: number): Variant {
  return {
    ...variant(`run batched, ${name} waiting`, async (bench, { jobs, seconds }) => {
      await bench.fill(count)
      return paced(
        bench,
        'run',
        { jobs: Math.min(jobs, count), seconds },
        { way: 'batched', concurrency: 10, workers: 1 },
      )
    }),
    isFor: (driver) => driver !== 'file' || count < 100_000,
    // Filling takes longer than measuring.
    warmUp: undefined,
    repeatFor: undefined,
    execArgv: ['--max-old-space-size=8192'],
  }
}

async function starting(
  bench: Bench,
  { jobs, seconds }: Limits,
  size: number,
  inFlight: number,
): Promise<readonly Measure[]> {
  const stop = startClock()
  return paceMeasures('start', stop(await bench.start(jobs, seconds, size, inFlight)))
}

async function paced(
  bench: Bench,
  name: string,
  limits: Limits,
  how: { way: Way; concurrency: number; workers: number },
): Promise<readonly Measure[]> {
  return paceMeasures(name, await bench.run(limits, how))
}

async function fanIn(bench: Bench, { jobs, seconds }: Limits): Promise<readonly Measure[]> {
  // Three jobs per fan-in.
  const added = await bench.addFanIns(Math.ceil(jobs / 3), seconds)
  return paced(bench, 'fan-in', { jobs: added * 3, seconds }, { way: 'batched', concurrency: 10, workers: 1 })
}

async function chainOfFive(bench: Bench, { jobs, seconds }: Limits): Promise<readonly Measure[]> {
  const added = await bench.addLong(Math.ceil(jobs / 5), seconds)
  return paced(bench, 'chain of five', { jobs: added * 5, seconds }, { way: 'batched', concurrency: 10, workers: 1 })
}

async function latency(bench: Bench, { seconds }: Limits): Promise<readonly Measure[]> {
  const latencies = await bench.latencies(100, seconds)
  return [0.5, 0.99].map((part) => ({ name: `p${100 * part}`, unit: 'ms', value: percentile(latencies, part) }))
}

/** Jobs that are there already, run ten at a time. Resolves with their number. */
function running10(way: Way) {
  return async (bench: Bench, { seconds }: Limits, added: number): Promise<number> => {
    const { jobs } = await bench.run({ jobs: added, seconds }, { way, concurrency: 10, workers: 1 })
    return jobs
  }
}

/** BEGIN and COMMIT of a start in a transaction are the user's: the others are counted. */
const ofTransactions = new Set(['begin', 'commit'])

/** Counted by a server with pg_stat_statements, and so separate from timed runs. */
function statements(name: string, run: (bench: Bench, limits: Limits, added: number) => Promise<number>): Variant {
  const isStart = name.includes('start')
  return {
    name,
    isFor: (driver) => driver === 'postgres',
    isOf: hasContract,
    run: async (contender, { jobs, seconds }) => {
      const place = newPlace()
      const session = await contender.setup({ ...usualSettings, countCalls: true }, place)
      const storage = await contender.openStorage!(place)
      const bench = await openChains(storage)
      const added = isStart ? 0 : await bench.add(Math.min(jobs, 5_000), seconds)
      const asked = async () => {
        // The server updates its counts with a delay.
        await sleep(1_500)
        const all = Object.entries(await session.calls()).filter(([verb]) => !isStart || !ofTransactions.has(verb))
        return { updates: await bench.rowUpdates(), calls: all.reduce((sum, [, count]) => sum + count, 0) }
      }
      const before = await asked()
      const done = await run(bench, { jobs, seconds }, added)
      const after = await asked()
      await bench.close()
      await session.close()
      const perJob = (of: 'calls' | 'updates'): number => (after[of] - before[of]) / done
      return [
        { name: 'statements per job', unit: 'calls', value: perJob('calls'), note: `of ${done} jobs` },
        { name: 'row updates per job', unit: 'calls', value: perJob('updates') },
      ]
    },
  }
}
