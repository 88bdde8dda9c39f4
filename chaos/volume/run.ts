// npm run chaos:volume: many jobs through killed processes, with checks that scale. See --help.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { driverNamed, drivers } from '../drivers.ts'
import { type FaultKind, faultKinds } from '../plan.ts'
import { runVolume, type VolumeOptions } from './run-volume.ts'
import { volumeLineOf, volumeReportOf } from './volume-report.ts'

const help = `\
npm run chaos:volume -- --driver <name> [options]

  --driver <name>      ${Object.keys(drivers).join(', ')}
  --jobs <n>                                                             default 100000
  --seed <n>           of the plan of faults                             default: the time
  --lease <ms>                                                           default 2000
  --workers <n>        processes                                         default 3
  --producers <n>      processes                                         default 2
  --concurrency <n>    slots of a worker                                 default 200
  --kinds <list>       which faults                                      default kill,stop, and with a server: server,proxy
  --calm <n>           factor of the pauses between faults               default 4
  --minutes <n>        time limit                                        default 60
  --json <file>        writes the report
  --keep               keeps the storage and the logs of a clean run too

Exit 0: clean. 1: a violation. 2: the run could not start.
`

const text = { type: 'string' } as const
try {
  const { values } = parseArgs({
    options: {
      driver: text,
      jobs: { ...text, default: '100000' },
      seed: text,
      lease: { ...text, default: '2000' },
      workers: { ...text, default: '3' },
      producers: { ...text, default: '2' },
      concurrency: { ...text, default: '200' },
      kinds: text,
      calm: { ...text, default: '4' },
      minutes: { ...text, default: '60' },
      json: text,
      keep: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.help || !values.driver) console.log(help)
  else {
    const { serve } = driverNamed(values.driver)
    const kinds = values.kinds?.split(',') ?? ['kill', 'stop', ...(serve ? ['server', 'proxy'] : [])]
    await run(
      {
        driver: values.driver,
        jobs: whole('jobs', values.jobs),
        seed: values.seed === undefined ? Math.floor(Date.now() / 1_000) : whole('seed', values.seed),
        leaseMs: whole('lease', values.lease),
        workers: whole('workers', values.workers),
        producers: whole('producers', values.producers),
        concurrency: whole('concurrency', values.concurrency),
        kinds: kinds.map(kindOf),
        calm: whole('calm', values.calm),
        minutes: whole('minutes', values.minutes),
      },
      values.json,
      values.keep === true,
    )
  }
} catch (error) {
  console.error(error)
  process.exitCode = 2
}
// Faults that were planned for later have timers.
process.exit()

async function run(options: VolumeOptions, json: string | undefined, keep: boolean): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), `holdfast-volume-${options.driver}-`))
  console.log(`${options.driver}, seed ${options.seed}, ${options.jobs} jobs, in ${directory}`)
  const report = volumeReportOf(options, await runVolume(options, directory, (line) => console.log(line)))
  if (json) writeFileSync(resolve(json), `${JSON.stringify(report, undefined, 2)}\n`)
  for (const sentence of report.sentences) console.log(`VIOLATION ${sentence}`)
  if (report.verdict === 'fail') process.exitCode = 1
  if (report.verdict === 'fail' || keep) console.log(`the storage and the logs are kept in ${directory}`)
  else rmSync(directory, { recursive: true })
  console.log(volumeLineOf(report))
}

function kindOf(name: string): FaultKind {
  const found = faultKinds.find((kind) => kind === name)
  if (!found) throw new Error(`--kinds: expected some of ${faultKinds.join(', ')}, got "${name}"`)
  return found
}

function whole(name: string, value: string): number {
  if (/^\d+$/.test(value) && Number(value) > 0) return Number(value)
  throw new Error(`--${name}: expected a whole number > 0, got "${value}"`)
}
