// Durations that are passed to queues and stores of other libraries, in the form that they take: a number of ms, or a
// Temporal.Duration. Those of Fedify take the latter: they call its methods, and a number would fail when a delay is first used.

import { usageError } from '../errors.ts'
import type { Duration } from './duration.ts'

interface Foreign {
  readonly durations?: 'ms' | 'temporal' | undefined
}

/** The queues and stores of Fedify. They have no flag, so they are recognised by the names of their classes. */
const fedifyClasses: ReadonlySet<string> = new Set([
  ...['InProcess', 'Parallel', 'Redis', 'Postgres', 'Sqlite', 'Mysql', 'Amqp', 'DenoKv', 'Workers'].map(
    (kind) => `${kind}MessageQueue`,
  ),
  ...['Memory', 'Redis', 'Postgres', 'Sqlite', 'Mysql', 'Deno', 'Workers'].map((kind) => `${kind}KvStore`),
])

interface TemporalLike {
  readonly Duration: { from(fields: { milliseconds: number }): Duration }
}

/** Only to make durations: the time is the clock's. */
const globalTemporal = (): TemporalLike | undefined => Reflect.get(globalThis, 'Temporal') as TemporalLike | undefined

const className = (foreign: object): string | undefined =>
  (Object.getPrototypeOf(foreign) as { constructor?: { name?: string } } | null)?.constructor?.name

function takesTemporal(foreign: Foreign): boolean {
  const { durations } = foreign
  return durations === undefined ? fedifyClasses.has(className(foreign) ?? '') : durations === 'temporal'
}

/**
 * Refuses a queue or store that takes Temporal.Duration where this runtime has none.
 * @param name of the option @param wrapper the function of @holdfast/fedify that helps
 * @throws TypeError INVALID_ARGUMENT
 */
export function checkDurations(name: string, foreign: Foreign, wrapper: 'fedifyQueue' | 'fedifyKv'): void {
  const { durations } = foreign
  if (durations !== undefined && durations !== 'ms' && durations !== 'temporal') {
    throw usageError('INVALID_ARGUMENT', `${name}.durations: expected 'ms' or 'temporal', got ${String(durations)}`)
  }
  if (!takesTemporal(foreign) || globalTemporal()) return
  const what = `${name}: ${className(foreign) ?? 'it'} takes durations as Temporal.Duration, which this Node.js does not have`
  const help = `Wrap it: ${wrapper}(…, { temporal: Temporal }) of @holdfast/fedify, with the Temporal of @js-temporal/polyfill. If it takes numbers of ms, give it the property durations: 'ms'.`
  throw usageError('INVALID_ARGUMENT', `${what}. ${help}`)
}

/** The duration in the form that the queue or store takes. */
export function durationFor(foreign: Foreign, ms: number): Duration {
  return takesTemporal(foreign) ? globalTemporal()!.Duration.from({ milliseconds: ms }) : ms
}
