// The command line of run.ts.

import { parseArgs } from 'node:util'
import { driverNamed, drivers, usualKinds } from './drivers.ts'
import { type FaultKind, faultKinds } from './plan.ts'
import { plants } from './plant.ts'

export interface Flags {
  readonly case: 'jobs' | 'chains'
  readonly driver: string
  readonly seconds: number
  readonly seed: number
  readonly leaseMs: number
  readonly workers: number
  readonly producers: number
  readonly operators: number
  readonly rate: number
  /** For the case chains: the number of orders, each with its blocker chains. */
  readonly chains: number
  readonly kinds: readonly FaultKind[]
  /** One or several, separated by commas. */
  readonly plant: string | undefined
  readonly json: string | undefined
  readonly keep: boolean
}

export class FlagError extends Error {}

export const help = `\
npm run chaos -- --driver <name> [options]

  --driver <name>    ${Object.keys(drivers).join(', ')}
  --case <name>      jobs: of all kinds, on Queue; chains: with fan-out and fan-in   default jobs
  --seconds <n>      how long there are faults; healing and draining come after      default 60
  --seed <n>         of the plan of faults and of the jobs                           default: the time
  --lease <ms>       of every job                                                    default 1200
  --workers <n>      processes                                                       default: by driver
  --producers <n>    processes                                                       default 2
  --rate <n>         jobs a second, of all producers                                 default: by driver
  --chains <n>       with --case chains, beside those that block them                default 2000
  --kinds <list>     which faults: ${faultKinds.join(',')}                default: all that the driver can have, without freeze
                     and, on Redis, session; of chains: kill
  --plant <list>     breaks the storage on purpose: the run must fail                ${plants.join(', ')}
  --json <file>      writes the report
  --keep             keeps the storage and the logs of a clean run too
  --help

Exit 0: clean. 1: a violation, or too few events. 2: the run could not start.
`

/** @returns undefined if help was asked for. @throws FlagError */
export function parseFlags(args: readonly string[]): Flags | undefined {
  const values = parse(args)
  if (values.help) return undefined
  const driver = nameIn('--driver', values.driver, Object.keys(drivers))
  const known = driverNamed(driver)
  const chosen = nameIn('--case', values.case, ['jobs', 'chains'])
  const isChains = chosen === 'chains'
  const kinds = isChains ? known.kinds.filter((kind) => kind !== 'full' && kind !== 'point') : known.kinds
  if (isChains && values.plant !== undefined) throw new FlagError('--plant: expected --case jobs, got "chains"')
  const usual = isChains ? (['kill'] as const) : usualKinds(known)
  return {
    case: chosen,
    driver,
    seconds: wholeNumber('--seconds', values.seconds),
    seed: values.seed === undefined ? Math.floor(Date.now() / 1_000) : wholeNumber('--seed', values.seed),
    leaseMs: wholeNumber('--lease', values.lease, 100),
    workers: wholeNumber('--workers', values.workers ?? String(isChains ? 3 : known.workers)),
    producers: isChains ? 0 : wholeNumber('--producers', values.producers),
    operators: isChains ? 0 : 1,
    rate: values.rate === undefined ? known.rate : wholeNumber('--rate', values.rate),
    chains: wholeNumber('--chains', values.chains),
    kinds: values.kinds?.split(',').map((kind) => nameIn(`--kinds with ${driver}`, kind, kinds)) ?? usual,
    plant: values.plant
      ?.split(',')
      .map((defect) => nameIn('--plant', defect, plants))
      .join(','),
    json: values.json,
    keep: values.keep,
  }
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const
  try {
    return parseArgs({
      args: [...args],
      options: {
        driver: text,
        case: { ...text, default: 'jobs' },
        seconds: { ...text, default: '60' },
        seed: text,
        lease: { ...text, default: '1200' },
        workers: text,
        producers: { ...text, default: '2' },
        rate: text,
        chains: { ...text, default: '2000' },
        kinds: text,
        plant: text,
        json: text,
        keep: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    throw new FlagError((error as Error).message)
  }
}

function nameIn<T extends string>(flag: string, given: string | undefined, known: readonly T[]): T {
  const found = known.find((name) => name === given)
  if (found !== undefined) return found
  throw new FlagError(
    `${flag}: expected one of ${known.join(', ')}, got ${given === undefined ? 'nothing' : `"${given}"`}`,
  )
}

function wholeNumber(flag: string, text: string, min = 1): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min) return value
  throw new FlagError(`${flag}: expected a whole number >= ${min}, got "${text}"`)
}
