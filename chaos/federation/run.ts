// npm run chaos:federation: kills the processes of a sender and a receiver at every step of a delivery. See --help.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { places } from './places.ts'
import { allPoints } from './points.ts'
import { runFederation, type RunReport } from './run-federation.ts'

const help = `\
npm run chaos:federation -- [options]

  --place <name>       where the sender stores its tables and jobs                     default sqlite
${Object.entries(places)
  .map(([name, { text }]) => `                       ${name.padEnd(15)} ${text}`)
  .join('\n')}
  --profile <name>     seed or hardened                                                default hardened
  --activities <n>     follows and posts                                               default 1000
  --rounds <n>         kills at each point: 20 are 201 kills                           default 4
                       ${allPoints.join(', ')} (pin: once)
  --workers <n>        worker processes                                                default 2
  --timeout <ms>       deadline of a request; a lost claim takes eight times that      default 500
  --seed <n>           seed of the plan                                                default: the time
  --quick              do not wait until upkeep has removed the last rows
  --plant <defect>     break the receiver on purpose, so that the run must fail        lose, twice
  --json <file>        write the report
  --help

Exit 0: nothing was lost, nothing applied twice. 1: something was, or a kill point was not reached. 2: the run itself failed.
`

const text = { type: 'string' } as const

try {
  process.exitCode = await main()
} catch (error) {
  console.error(error)
  process.exitCode = 2
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      place: { ...text, default: 'sqlite' },
      profile: { ...text, default: 'hardened' },
      activities: { ...text, default: '1000' },
      rounds: { ...text, default: '4' },
      workers: { ...text, default: '2' },
      timeout: { ...text, default: '500' },
      seed: { ...text, default: String(Math.floor(Date.now() / 1_000)) },
      quick: { type: 'boolean', default: false },
      plant: text,
      json: text,
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(help)
    return 0
  }
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-chaos-federation-'))
  const seed = wholeNumber('--seed', values.seed)
  console.log(`${values.place}, profile ${values.profile}, seed ${seed}, in ${directory}`)
  const { profile } = values
  if (profile !== 'seed' && profile !== 'hardened') throw new Error('--profile: expected seed or hardened')
  const report = await runFederation({
    profile,
    place: values.place,
    directory,
    seed,
    activities: wholeNumber('--activities', values.activities),
    rounds: wholeNumber('--rounds', values.rounds),
    workers: wholeNumber('--workers', values.workers),
    concurrency: 10,
    timeoutMs: wholeNumber('--timeout', values.timeout),
    waitsForUpkeep: !values.quick,
    ...(values.plant !== undefined && { plant: values.plant }),
    print: console.log,
  })
  if (values.json) writeFileSync(resolve(values.json), `${JSON.stringify({ ...values, ...report }, undefined, 2)}\n`)
  show(report)
  if (report.isClean) rmSync(directory, { recursive: true })
  else console.log(`the files of the run are kept in ${directory}`)
  return report.isClean ? 0 : 1
}

function show({ kills, activities, requests, isClean, ...problems }: RunReport): void {
  const total = Object.values(kills).reduce((sum, count) => sum + count, 0)
  const at = Object.entries(kills).map(([name, count]) => `${name} ${count}`)
  console.log(`\n${total} processes killed: ${at.join(', ')}`)
  console.log(`${requests} deliveries arrived for ${activities} activities`)
  for (const [problem, items] of Object.entries(problems)) {
    console.log(`${problem}: ${items.length}${items.length > 0 ? ` (${items.slice(0, 10).join('; ')})` : ''}`)
  }
  console.log(isClean ? 'Nothing was lost, and nothing applied twice.' : 'FAILED')
}

function wholeNumber(flag: string, value: string): number {
  if (/^[1-9]\d*$/.test(value)) return Number(value)
  throw new Error(`${flag}: expected a whole number >= 1, got "${value}"`)
}
