// The job of a slot. The storage adds one per slot: its key accepts only slots after the last one (mode `ascending`).

import type { NewJob } from '../../storage/storage.ts'
import { isoOf } from './instant.ts'
import { shiftOf } from './rule.ts'
import type { StoredSchedule } from './stored-schedule.ts'

/** The schedule that added a job. */
export interface JobSchedule {
  /** Name of the schedule. */
  readonly name: string
  /** The slot, in epoch ms. Absent: fire() added the job. */
  readonly slotAt?: number | undefined
}

const prefix = 'schedule/'

export const slotKey = (name: string): string => `holdfast schedule ${name}`

export const slotId = (name: string, slotAt: number): string => `${name}@${isoOf(slotAt)}`

/** @param callId unique to the call */
export function slotJob(schedule: StoredSchedule, slotAt: number, callId: string): NewJob {
  const { name, jitterMs } = schedule
  return {
    ...jobOf(schedule),
    id: slotId(name, slotAt),
    token: `${prefix}${slotAt}/${callId}/${name}`,
    runAt: slotAt + shiftOf(name, jitterMs),
    deduplication: { key: slotKey(name), mode: 'ascending', version: slotAt },
  }
}

/** A job outside the slots. */
export function firedJob(schedule: StoredSchedule, callId: string): NewJob {
  const { name } = schedule
  return { ...jobOf(schedule), id: `${name}@${callId}`, token: `${prefix}/${callId}/${name}` }
}

/** The schedule that added the job with this token, if one did. */
export function scheduleOf(token: string): JobSchedule | undefined {
  if (!token.startsWith(prefix)) return undefined
  const [slot, , ...name] = token.slice(prefix.length).split('/')
  return { name: name.join('/'), ...(slot !== '' && { slotAt: Number(slot) }) }
}

function jobOf({ name, job, overlap }: StoredSchedule): Omit<NewJob, 'id' | 'token'> {
  return overlap === 'queue' ? { ...job, group: { key: slotKey(name), ordered: true } } : job
}
