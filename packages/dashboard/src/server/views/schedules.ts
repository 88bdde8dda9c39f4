// The schedules of every face, with their next runs.

import type { AdminScheduleInfo, ScheduleRuns } from 'holdfast'
import {
  type Answer,
  largestPage,
  type SchedulePreview,
  type ScheduleRow,
  type SchedulesPage,
} from '../../shared/api.ts'
import { invalid } from '../http/errors.ts'
import { answerOf, type Call, type Context } from '../route.ts'

const [schedulesMs, shownSlots] = [5_000, 5]
/** Time before and after now that the strip of a schedule shows, and its slots on each side. */
const [stripMs, mostRuns] = [86_400_000, 24]

export async function schedules({ reads, handles }: Context): Promise<Answer<SchedulesPage>> {
  const read = await reads.read('schedules', schedulesMs, async () => {
    const all = await handles.reader.schedules.list()
    const shown = all.toSorted(byNextRun).slice(0, largestPage)
    const runs = await handles.reader.schedules.runs(shown, { spanMs: stripMs, most: mostRuns })
    const rows = await Promise.all(shown.map((schedule, index) => rowOf(schedule, runs[index]!)))
    return { schedules: rows, cut: all.length - shown.length }
  })
  return answerOf(read, (page) => page)

  async function rowOf(schedule: AdminScheduleInfo, runs: ScheduleRuns): Promise<ScheduleRow> {
    const { payload: _, ...info } = schedule
    const { cron, everyMs, timeZone } = info
    const rule = cron === undefined ? { everyMs } : { cron, timeZone }
    // Without the package croner, this process cannot compute slots of a cron expression.
    const next = await handles.reader.schedules.previewRule(rule, shownSlots).catch(() => [])
    return { ...info, next, runs }
  }
}

/** The next runs of a rule that is being written. It asks no storage. */
export async function schedulePreview({ handles, clock }: Context, { query }: Call): Promise<Answer<SchedulePreview>> {
  const [cron, everyMs, timeZone] = ['cron', 'everyMs', 'timeZone'].map((key) => query.get(key) ?? undefined)
  if (everyMs !== undefined && !/^\d{1,15}$/.test(everyMs)) throw invalid('everyMs: expected a number of ms.')
  const rule = { cron, timeZone, ...(everyMs !== undefined && { everyMs: Number(everyMs) }) }
  return { at: clock.now(), costMs: 0, data: { next: await handles.reader.schedules.previewRule(rule, shownSlots) } }
}

const byNextRun = (a: AdminScheduleInfo, b: AdminScheduleInfo): number =>
  (a.nextAt ?? Infinity) - (b.nextAt ?? Infinity) || (a.name < b.name ? -1 : 1)
