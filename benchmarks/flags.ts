// The command line of run.ts.

import { parseArgs } from 'node:util'
import type { Limits } from './load.ts'

export interface Flags {
  /** Empty: all. */
  readonly drivers: readonly string[]
  /** Empty: all. */
  readonly cases: readonly string[]
  /** Parts of names of variants, or = and a name. Empty: all. */
  readonly variants: readonly string[]
  /** The same of names of peers and limits. Empty: all. Holdfast always runs. */
  readonly contenders: readonly string[]
  readonly peers: boolean
  readonly rounds: number
  readonly limits: Limits
  readonly json: string | undefined
}

/** The known names, for messages. */
export interface Known {
  readonly drivers: readonly string[]
  readonly cases: readonly string[]
}

export class FlagError extends Error {}

export const help = ({ drivers, cases }: Known): string => `\
npm run bench -- [options]

  --driver <name>    only this driver; may be given again      ${drivers.join(', ')}
  --case <name>      only this case; may be given again        ${cases.join(', ')}
  --variant <text>   only variants with this text in their name, or with exactly this name: --variant "=serial"; may be given again
  --peers            also the peers, alternating with Holdfast; installs them into benchmarks/ on first use
  --contender <text> only peers with this text in their name, and Holdfast; --contender limit: only the limits; may be given again
  --rounds <n>       number of rounds; medians and ranges are shown               default 3
  --jobs <n>         jobs per measurement, or as many as its seconds allow        default 20000
  --seconds <n>      time limit of a measurement; idle takes 3 times it, held 6   default 10
  --records <n>      records of the case operate, which runs only if named        default 1000000
  --json <file>      write the results, for npm run bench:report
  --help

Each measurement runs in its own process. Compare within one run only, by the ratios.
`

/** @returns undefined for --help. @throws FlagError */
export function parseFlags(args: readonly string[], known: Known): Flags | undefined {
  const { values } = parse(args)
  if (values.help) return undefined
  return {
    drivers: namesIn('--driver', values.driver, known.drivers),
    cases: namesIn('--case', values.case, known.cases),
    variants: values.variant,
    contenders: values.contender,
    peers: values.peers || values.contender.length > 0,
    rounds: wholeNumber('--rounds', values.rounds),
    limits: {
      jobs: wholeNumber('--jobs', values.jobs),
      seconds: wholeNumber('--seconds', values.seconds),
      ...(values.records !== undefined && { records: wholeNumber('--records', values.records) }),
    },
    json: values.json,
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        driver: { type: 'string', multiple: true, default: [] },
        case: { type: 'string', multiple: true, default: [] },
        variant: { type: 'string', multiple: true, default: [] },
        contender: { type: 'string', multiple: true, default: [] },
        peers: { type: 'boolean', default: false },
        rounds: { type: 'string', default: '3' },
        jobs: { type: 'string', default: '20000' },
        seconds: { type: 'string', default: '10' },
        records: { type: 'string' },
        json: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    throw new FlagError((error as Error).message)
  }
}

function namesIn(flag: string, given: readonly string[], known: readonly string[]): readonly string[] {
  for (const name of given) {
    if (!known.includes(name)) throw new FlagError(`${flag}: expected one of ${known.join(', ')}, got "${name}"`)
  }
  return given
}

function wholeNumber(flag: string, text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 1) throw new FlagError(`${flag}: expected a whole number >= 1, got "${text}"`)
  return value
}
