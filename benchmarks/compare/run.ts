// npm run bench:compare: add and drain of this checkout against another commit, in turns.
//
//   npm run bench:compare -- --to HEAD~10 [--driver sqlite]… [--turns 30]
//
// A machine that is shared changes its speed by more than the differences that matter. So both versions run side by side, each in its
// own process on its own storage, and take turns of a fifth of a second; every ratio is of two turns that follow each other, and which
// version goes first alternates. The result is the median of the ratios, with the interval that holds the true median in 19 of 20 cases.

import { fork } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { helpFromHeadComment } from '../../scripts/help.ts'
import { startPostgres } from '../../servers/postgres.ts'
import { startRedis } from '../../servers/redis.ts'
import type { Pace } from '../load.ts'
import { newWorkingDirectory, removeDirectory } from '../place.ts'
import { median } from '../statistics.ts'
import { checkOut, commitOf, here } from './checkout.ts'
import type { Turn, TurnTaken } from './side.ts'

helpFromHeadComment(import.meta.url)

const drivers = ['memory', 'sqlite', 'file', 'redis', 'postgres'] as const
type Driver = (typeof drivers)[number]

/** How long a turn should take, ms. */
const turnMs = 200
const concurrencies = [1, 10, 100]
const adding = 'add, 100 in flight'

const { values: flags } = parseArgs({
  options: {
    to: { type: 'string' },
    driver: { type: 'string', multiple: true, default: [...drivers] },
    turns: { type: 'string', default: '30' },
  },
})
const turns = Number(flags.turns)
const unknown = flags.driver.find((name) => !drivers.includes(name as Driver))
if (!flags.to || !(turns >= 5) || unknown) {
  console.error(
    'npm run bench:compare -- --to <commit> [--driver memory|sqlite|file|redis|postgres]… [--turns <5 or more>]',
  )
  process.exit(2)
}

const commit = commitOf(flags.to)
const other = checkOut(commit)
console.log(`This checkout against ${commit}: ${turns} turns each, alternating. Above 0: this checkout is slower.\n`)
console.log(['driver', 'measure', 'time', '(19 of 20)', 'own CPU', '(19 of 20)'].map(pad).join(''))
for (const driver of flags.driver as Driver[]) await compare(driver)

async function compare(driver: Driver): Promise<void> {
  const folder = newWorkingDirectory()
  const sides = await Promise.all(
    [here, other].map((root, index) => startSide(driver, root, join(folder, String(index)))),
  )
  const ratios = new Map<string, { time: number[]; cpu: number[] }>()
  const note = (name: string, mine: Pace, theirs: Pace): void => {
    const row = ratios.get(name) ?? { time: [], cpu: [] }
    ratios.set(name, row)
    row.time.push(mine.ms / theirs.ms)
    row.cpu.push(mine.cpuMs / theirs.cpuMs)
  }
  try {
    for (const concurrency of concurrencies) {
      const turn = { jobs: await jobsOfTurn(sides, concurrency), concurrency }
      for (let n = 0; n < turns; n++) {
        const order = n % 2 === 0 ? [0, 1] : [1, 0]
        const taken: TurnTaken[] = []
        for (const index of order) taken[index] = await sides[index]!.take(turn)
        const [mine, theirs] = taken as [TurnTaken, TurnTaken]
        note(adding, mine.add, theirs.add)
        note(`drain, concurrency ${concurrency}`, mine.drain, theirs.drain)
      }
    }
  } finally {
    await Promise.all(sides.map((side) => side.stop()))
    removeDirectory(folder)
  }
  for (const [name, { time, cpu }] of ratios) {
    console.log([driver, name, ...change(time), ...change(cpu)].map(pad).join(''))
  }
}

/** Warms the sides up, and finds how many jobs the slower one drains in a turn. Both take the same turns: one more would compile more code. */
async function jobsOfTurn(sides: readonly Side[], concurrency: number): Promise<number> {
  let jobs = 100
  for (;;) {
    const taken: TurnTaken[] = []
    for (const side of sides) taken.push(await side.take({ jobs, concurrency }))
    const ms = Math.max(...taken.map(({ drain }) => drain.ms))
    if (ms >= turnMs || jobs >= 20_000) return jobs
    jobs = Math.min(jobs * Math.min(4, Math.ceil((1.2 * turnMs) / ms)), 20_000)
  }
}

interface Side {
  take(turn: Turn): Promise<TurnTaken>
  stop(): Promise<void>
}

async function startSide(driver: Driver, root: string, place: string): Promise<Side> {
  const server = await startServer(driver)
  const script = fileURLToPath(new URL('side.ts', import.meta.url))
  const child = fork(script, [root, driver, server?.url ?? place], { execArgv: ['--conditions=@holdfast/source'] })
  const ended = Promise.withResolvers<never>()
  ended.promise.catch(() => {})
  child.once('exit', (code) => ended.reject(new Error(`The side of ${root} ended with ${code}`)))
  const answer = async (): Promise<unknown> => {
    const message = Promise.withResolvers<unknown>()
    child.once('message', message.resolve)
    return Promise.race([message.promise, ended.promise])
  }
  await answer()
  return {
    async take(turn) {
      child.send(turn)
      return (await answer()) as TurnTaken
    },
    async stop() {
      child.kill('SIGKILL')
      await server?.stop()
    },
  }
}

async function startServer(driver: Driver): Promise<{ url: string; stop(): Promise<void> } | undefined> {
  if (driver === 'redis') return startRedis()
  if (driver === 'postgres') return startPostgres({ fsync: true })
  return undefined
}

/** The median as a change in per cent, and its interval by ranks (binomial, normal approximation). */
function change(ratios: readonly number[]): [string, string] {
  const sorted = ratios.toSorted((a, b) => a - b)
  const half = 0.98 * Math.sqrt(sorted.length)
  const low = sorted[Math.max(0, Math.floor(sorted.length / 2 - half))]!
  const high = sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length / 2 + half))]!
  return [percent(median(sorted)), `${percent(low)} … ${percent(high)}`]
}

function percent(ratio: number): string {
  const value = (ratio - 1) * 100
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(1)} %`
}

function pad(cell: string, column: number): string {
  return cell.padEnd([10, 24, 10, 22, 10, 22][column]!)
}
