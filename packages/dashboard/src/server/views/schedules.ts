// The schedules of every face, with their next runs.

import type { AdminScheduleInfo } from 'holdfast'
import { type Answer, largestPage, type ScheduleRow, type SchedulesPage } from '../../shared/api.ts'
import { answerOf, type Context } from '../route.ts'

const [schedulesMs, shownSlots] = [5_000, 5]

export async function schedules({ reads, handles }: Context): Promise<Answer<SchedulesPage>> {
  const read = await reads.read('schedules', schedulesMs, async () => {
    const all = await handles.reader.schedules.list()
    const shown = all.toSorted(byNextRun).slice(0, largestPage)
    return { schedules: await Promise.all(shown.map(rowOf)), cut: all.length - shown.length }
  })
  return answerOf(read, (page) => page)

  async function rowOf(schedule: AdminScheduleInfo): Promise<ScheduleRow> {
    const { payload: _, ...info } = schedule
    // Without the package croner, this process cannot compute slots of a cron expression.
    const next = await handles.reader.schedules.preview(info, shownSlots).catch(() => [])
    return { ...info, next }
  }
}

const byNextRun = (a: AdminScheduleInfo, b: AdminScheduleInfo): number =>
  (a.nextAt ?? Infinity) - (b.nextAt ?? Infinity) || (a.name < b.name ? -1 : 1)
