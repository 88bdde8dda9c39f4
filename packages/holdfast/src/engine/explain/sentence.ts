// Words and times of the sentences.

import { isoOf } from '../schedule/instant.ts'
import { parseType } from '../../storage/stored-type.ts'
import type { Reason, ReasonCode } from './explanation.ts'

/** @param data with `until`, if the reason ends by itself */
export function reason(
  code: ReasonCode,
  sentence: string,
  { until, ...data }: Readonly<Record<string, unknown>> & { readonly until?: number | undefined } = {},
): Reason {
  const given = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined))
  return { code, sentence, ...(until !== undefined && { until }), data: given }
}

/** The last instant that a date can have. */
const lastInstant = 8.64e15

/** "12:03:07", in UTC; with the date if it is another day than today. */
export function clockTime(at: number, now: number): string {
  if (at > lastInstant) return 'the end of time'
  const [day, time] = instantText(at)
  return day === instantText(now)[0] ? time : `${day} ${time}`
}

function instantText(at: number): [day: string, time: string] {
  const text = isoOf(at)
  return [text.slice(0, text.indexOf('T')), text.slice(text.indexOf('T') + 1, -5)]
}

/** "queue 'mail'" */
export function typeText(type: string): string {
  const { face, name } = parseType(type)
  return face === '' ? `type '${name}'` : `${face} '${name}'`
}
