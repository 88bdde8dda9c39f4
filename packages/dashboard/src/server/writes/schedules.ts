// Pause, resume and fire of schedules, and other rules for them.

import { RequestError } from '../http/errors.ts'
import type { Call, Context } from '../route.ts'
import { optionalNumber, optionalText, scheduleOf } from './body.ts'

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

/** Sets when a schedule fires. What else its code declares (catch-up, overlap, jitter) stays. */
export async function putSchedule({ handles, reads, audit }: Context, { actor, body }: Call) {
  const schedule = scheduleOf(body)
  const { schedules } = handles.of(actor)
  const stored = await schedules.list({ face: schedule.face, owner: schedule.owner })
  const found = stored.find(({ name }) => name === schedule.name)
  if (!found) throw new RequestError(404, 'SCHEDULE_NOT_FOUND', 'There is no such schedule.')
  const { catchUp, catchUpLimit, graceMs, overlap, jitterMs } = found
  const when = {
    cron: optionalText(body, 'cron'),
    everyMs: optionalNumber(body, 'everyMs'),
    timeZone: optionalText(body, 'timeZone'),
  }
  await schedules.put(schedule, { catchUp, catchUpLimit, graceMs, overlap, jitterMs, ...when })
  reads.clear()
  audit.wrote(actor, `changed schedule '${schedule.name}'`, { ...schedule, ...when })
  return { status: 'ok' }
}
