// Pause, resume and fire of schedules.

import { RequestError } from '../http/errors.ts'
import type { Call, Context } from '../route.ts'
import { scheduleOf } from './body.ts'

export const pauseSchedule =
  (isPause: boolean) =>
  async ({ handles, reads, audit }: Context, { actor, body }: Call) => {
    const schedule = scheduleOf(body)
    const { schedules } = handles.of(actor)
    const isFound = isPause ? await schedules.pause(schedule, { by: actor }) : await schedules.resume(schedule)
    if (!isFound) throw new RequestError(404, 'SCHEDULE_NOT_FOUND', 'There is no such schedule.')
    reads.clear()
    audit.wrote(actor, `${isPause ? 'paused' : 'resumed'} schedule '${schedule.name}'`, { ...schedule })
    return { status: 'ok' }
  }

export async function fireSchedule({ handles, reads, audit }: Context, { actor, body }: Call) {
  const schedule = scheduleOf(body)
  const id = await handles.of(actor).schedules.fire(schedule)
  reads.clear()
  audit.wrote(actor, `fired schedule '${schedule.name}'`, { ...schedule, jobId: id })
  return { status: 'fired', id }
}
