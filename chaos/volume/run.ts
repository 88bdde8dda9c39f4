// npm run chaos:volume: many jobs through killed processes, with checks that scale. See --help.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { driverNamed, drivers } from '../drivers.ts'
import { type FaultKind, faultKinds } from '../plan.ts'
import { runVolume, type VolumeOptions } from './run-volume.ts'
import { peerNamed, peers } from './peers/index.ts'
import { volumeLineOf, type VolumeReport, volumeReportOf } from './volume-report.ts'

const help = `\
npm run chaos:volume -- --driver <name>,… [options]

  --driver <list>      ${Object.keys(drivers).join(', ')}: one run after the other. With a number of
                       jobs of its own: sqlite:800000,file:100000
  --peer <name>        ${Object.keys(peers).join(', ')}: another library on the same rig, instead of a driver
  --jobs <n>                                                             default 100000
  --seed <n>           of the plan of faults                             default: the time
  --lease <ms>                                                           default 2000
  --workers <n>        processes                                         default 3
  --producers <n>      processes                                         default 2
  --concurrency <n>    slots of a worker                                 default 200
  --kinds <list>       which faults                                      default kill,stop, and with a server: server,proxy
  --calm <n>           factor of the pauses between faults               default 4
  --minutes <n>        time limit of each run                            default 60
  --json <file>        writes the reports, each as its run ends
  --keep               keeps the storage and the logs of a clean run too

Exit 0: clean. 1: a violation. 2: the run could not start.
`

const text = { type: 'string' } as const
try {
  const { values } = parseArgs({
    options: {
      driver: text,
      peer: text,
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
  if (values.help || (!values.driver && !values.peer)) console.log(help)
  else {
    const { peer } = values
    const chosen = peer === undefined ? values.driver!.split(',') : [peerNamed(peer).driver]
    const reports: VolumeReport[] = []
    for (const [driver, jobs = values.jobs] of chosen.map((one) => one.split(':') as [string, string?])) {
      const { serve } = driverNamed(driver)
      const kinds = values.kinds?.split(',') ?? ['kill', 'stop', ...(serve ? ['server', 'proxy'] : [])]
      reports.push(
        await run(
          {
            driver,
            ...(peer !== undefined && { peer }),
            jobs: whole('jobs', jobs),
            seed: values.seed === undefined ? Math.floor(Date.now() / 1_000) : whole('seed', values.seed),
            leaseMs: whole('lease', values.lease),
            workers: whole('workers', values.workers),
            producers: whole('producers', values.producers),
            concurrency: whole('concurrency', values.concurrency),
            kinds: kinds.map(kindOf),
            calm: whole('calm', values.calm),
            minutes: whole('minutes', values.minutes),
          },
          values.keep === true,
        ),
      )
      if (values.json) writeFileSync(resolve(values.json), `${JSON.stringify({ volume: reports }, undefined, 2)}\n`)
    }
    if (reports.length > 1) console.log(`\n${reports.map(volumeLineOf).join('\n')}`)
    if (reports.some(({ verdict }) => verdict === 'fail')) process.exitCode = 1
  }
} catch (error) {
  console.error(error)
  process.exitCode = 2
}
// Faults that were planned for later have timers.
process.exit()

async function run(options: VolumeOptions, keep: boolean): Promise<VolumeReport> {
  const name = options.peer ?? options.driver
  const directory = mkdtempSync(join(tmpdir(), `holdfast-volume-${name}-`))
  console.log(`${name}, seed ${options.seed}, ${options.jobs} jobs, in ${directory}`)
  const report = volumeReportOf(options, await runVolume(options, directory, (line) => console.log(line)))
  for (const sentence of report.sentences) console.log(`VIOLATION ${sentence}`)
  if (report.verdict === 'fail' || keep) console.log(`the storage and the logs are kept in ${directory}`)
  else rmSync(directory, { recursive: true })
  console.log(volumeLineOf(report))
  return report
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
