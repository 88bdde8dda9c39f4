// Cron expressions. croner parses them: an optional peer, imported when the first one is used. This file is the only one that knows it.

import { HoldfastError, invalidArgument } from '../../errors.ts'
import { dateOf, msOf } from './instant.ts'

/** The instants of a rule, in epoch ms. */
export interface Instants {
  /** The first one after an instant. Undefined: there is none. */
  next(afterMs: number): number | undefined
  /** The last one before an instant. Undefined: there is none. */
  previous(beforeMs: number): number | undefined
}

/** What is used of croner. */
interface CronLibrary {
  readonly Cron: new (
    expression: string,
    options: { readonly timezone: string; readonly paused: true; readonly mode: '5-or-6-parts' },
  ) => {
    nextRun(after: Date): Date | null
    previousRuns(count: number, before: Date): Date[]
  }
}

const install = 'Run npm install croner@11'

let loaded: Promise<CronLibrary> | undefined

/** @param name of the option, for the message @throws HoldfastError MISSING_DEPENDENCY, TypeError INVALID_ARGUMENT */
export async function cronInstants(expression: string, timeZone: string, name?: string): Promise<Instants> {
  loaded ??= loadCron(() => importPackage('croner')).catch((error: unknown) => {
    loaded = undefined
    throw error
  })
  return parse(await loaded, expression, timeZone, name)
}

// Not a literal: a bundler would fail where it is not installed.
const importPackage = (name: string): Promise<unknown> => import(/* webpackIgnore: true */ /* @vite-ignore */ name)

/** @param load imports croner; tests replace it @throws HoldfastError MISSING_DEPENDENCY */
export async function loadCron(load: () => Promise<unknown>): Promise<CronLibrary> {
  let library: CronLibrary
  try {
    library = (await load()) as CronLibrary
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error
    throw missing(
      `Schedules: cron expressions need the package croner, which is not installed. ${install}, or use everyMs.`,
    )
  }
  if (!passesVectors(library)) {
    throw missing(
      `Schedules: the installed croner is wrong about daylight-saving time, so that jobs would be lost or run twice. ${install}.`,
    )
  }
  return library
}

const missing = (message: string): HoldfastError =>
  new HoldfastError('MISSING_DEPENDENCY', message, { package: 'croner' })

function parse({ Cron }: CronLibrary, expression: string, timeZone: string, name = 'cron'): Instants {
  let cron: InstanceType<CronLibrary['Cron']>
  try {
    cron = new Cron(expression, { timezone: timeZone, paused: true, mode: '5-or-6-parts' })
    // An unknown time zone is only noticed here.
    cron.nextRun(dateOf(0))
  } catch (error) {
    // Of the number of fields croner has a sentence of its own, which allows seven.
    const isComplete = [5, 6].includes(expression.trim().split(/\s+/).length)
    const why = isComplete ? ` (${(error as Error).message})` : ''
    throw invalidArgument(name, `a cron expression of 5 or 6 fields${why}`, expression)
  }
  return {
    next: (afterMs) => cron.nextRun(dateOf(afterMs))?.getTime(),
    // croner drops the fraction of a second: rounded up, so that an instant within that second counts.
    previous: (beforeMs) => cron.previousRuns(1, dateOf(Math.ceil(beforeMs / 1_000) * 1_000))[0]?.getTime(),
  }
}

/** Expressions in Europe/Berlin around the two changes of 2026, and when they must match. */
const vectors: readonly (readonly [expression: string, after: string, ...expected: string[]])[] = [
  // 02:30 does not exist on 29 March: the end of the gap. On 25 October it exists twice: the first.
  ['30 2 * * *', '2026-03-28T12:00Z', '2026-03-29T01:00Z', '2026-03-30T00:30Z'],
  ['30 2 * * *', '2026-10-24T12:00Z', '2026-10-25T00:30Z', '2026-10-26T01:30Z'],
  [
    '*/30 * * * *',
    '2026-10-24T23:59Z',
    '2026-10-25T00:00Z',
    '2026-10-25T00:30Z',
    '2026-10-25T01:00Z',
    '2026-10-25T01:30Z',
    '2026-10-25T02:00Z',
  ],
]

function passesVectors(library: CronLibrary): boolean {
  return vectors.every(([expression, after, ...expected]) => {
    const { next } = parse(library, expression, 'Europe/Berlin')
    let at: number | undefined = msOf(after)
    return expected.every((instant) => (at = next(at!)) === msOf(instant))
  })
}
