// The runs of schedules around an instant: which slots were due, what became of their jobs, and which come next. Storages keep no history
// of schedules: the rule says the slots, and the id of a job names its slot.

import { instantsOf } from '../engine/schedule/rule.ts'
import { slotId } from '../engine/schedule/slot-job.ts'
import type { GuardedStorage } from '../engine/guard.ts'
import { engineDefaults } from '../engine/defaults.ts'
import type { JobRecord, JobRef, JobState } from '../storage/storage.ts'
import { storedType } from '../storage/stored-type.ts'
import type { AdminScheduleInfo } from './admin.ts'

/** A slot of a schedule. Instants are epoch ms. */
export interface ScheduleRun {
  readonly at: number
  /** Id of its job, whether there is one or not. */
  readonly id: string
  /** Of its job. Absent: the slot is to come, it was skipped or missed, or the record is gone. */
  readonly state?: JobState
  readonly startedAt?: number
  readonly finishedAt?: number
}

/** The slots of one schedule. */
export interface ScheduleRuns {
  /** The oldest first. */
  readonly past: readonly ScheduleRun[]
  readonly next: readonly ScheduleRun[]
}

const none: ScheduleRuns = { past: [], next: [] }

interface Window {
  readonly now: number
  /** Time before and after now. */
  readonly spanMs: number
  /** Slots on each side, at most. */
  readonly most: number
}

/** In the order of the schedules. A rule that this process cannot compute has no runs. */
export async function scheduleRuns(
  storage: Pick<GuardedStorage, 'get'>,
  schedules: readonly AdminScheduleInfo[],
  window: Window,
): Promise<ScheduleRuns[]> {
  const slots = await Promise.all(schedules.map((schedule) => slotsOf(schedule, window).catch(() => undefined)))
  const refs = schedules.flatMap((schedule, index) => refsOf(schedule, slots[index]?.past ?? []))
  const records: (JobRecord | undefined)[] = []
  for (let start = 0; start < refs.length; start += engineDefaults.batch) {
    records.push(...(await storage.get(refs.slice(start, start + engineDefaults.batch))))
  }
  let read = 0
  return schedules.map(({ name, since }, index) => {
    const found = slots[index]
    if (!found) return none
    return {
      // It was not to fire the slots before, so a missing job says nothing.
      past: found.past
        .map((at) => runOf(name, at, records[read++]))
        .filter(({ at, state }) => at > since || state !== undefined),
      next: found.next.map((at) => ({ at, id: slotId(name, at) })),
    }
  })
}

async function slotsOf(
  { cron, everyMs, timeZone }: AdminScheduleInfo,
  { now, spanMs, most }: Window,
): Promise<{ readonly past: readonly number[]; readonly next: readonly number[] }> {
  const instants = await instantsOf({ cron, everyMs, timeZone })
  const next: number[] = []
  for (let at = instants.next(now); isIn(at, next); at = instants.next(at)) next.push(at)
  const past: number[] = []
  for (let at = instants.previous(now + 1); isIn(at, past); at = instants.previous(at)) past.push(at)
  return { past: past.toReversed(), next }

  function isIn(at: number | undefined, found: readonly number[]): at is number {
    return at !== undefined && Math.abs(at - now) <= spanMs && found.length < most
  }
}

const refsOf = ({ face, typeName, name }: AdminScheduleInfo, slots: readonly number[]): JobRef[] =>
  slots.map((at) => ({ type: storedType(face, typeName), id: slotId(name, at) }))

function runOf(name: string, at: number, record: JobRecord | undefined): ScheduleRun {
  const id = slotId(name, at)
  if (!record) return { at, id }
  const { state, startedAt, finishedAt } = record
  return {
    at,
    id,
    state,
    ...(startedAt !== undefined && { startedAt }),
    ...(finishedAt !== undefined && { finishedAt }),
  }
}
