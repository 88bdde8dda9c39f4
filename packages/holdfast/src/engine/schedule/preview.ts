// The next instants of a schedule, for people to check it before it fires.

import { instantsOf } from './rule.ts'
import type { Schedule } from './schedule.ts'

/** An instant of a schedule. */
export interface PreviewedSlot {
  /** Epoch ms. */
  readonly at: number
  /** The same in the time zone of the schedule, such as `2026-03-29 03:00:00 GMT+2`. */
  readonly local: string
}

/** @param after epoch ms @throws as instantsOf */
export async function previewSlots(
  schedule: Pick<Schedule, 'cron' | 'everyMs' | 'timeZone'>,
  after: number,
  count: number,
): Promise<PreviewedSlot[]> {
  const instants = await instantsOf(schedule)
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: schedule.timeZone,
    dateStyle: 'short',
    timeStyle: 'medium',
  })
  const zone = new Intl.DateTimeFormat('en', { timeZone: schedule.timeZone, timeZoneName: 'shortOffset' })
  const found: PreviewedSlot[] = []
  for (let at = instants.next(after); at !== undefined && found.length < count; at = instants.next(at)) {
    const offset = zone.formatToParts(at).find(({ type }) => type === 'timeZoneName')!.value
    found.push({ at, local: `${format.format(at)} ${offset}` })
  }
  return found
}
