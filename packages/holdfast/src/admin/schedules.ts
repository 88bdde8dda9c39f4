// admin.schedules: the schedules of every face. An owner of schedules is stored as a type is: the face, a dot, and a name.

import { readable } from '../copy-option.ts'
import { valueCodec } from '../engine/operate/payload-codec.ts'
import { previewSlots } from '../engine/schedule/preview.ts'
import { resolveRule, type ScheduleRule } from '../engine/schedule/schedule.ts'
import { scheduleOwners } from '../engine/schedule/schedule-store.ts'
import { type ScheduleInfo, Schedules, type SchedulesOptions } from '../engine/schedule/schedules.ts'
import type { StoredSchedule } from '../engine/schedule/stored-schedule.ts'
import { invalidArgument } from '../errors.ts'
import { integer } from '../option-checks.ts'
import { resolveOptions } from '../resolve-options.ts'
import type { Bytes } from '../storage/storage.ts'
import { parseType, storedType } from '../storage/stored-type.ts'
import type { AdminScheduleInfo, AdminSchedules, NamedSchedule } from './admin.ts'
import { byOptions, namedScheduleOptions, runsOptions, scheduleFilterOptions } from './options.ts'
import { scheduleRuns } from './schedule-runs.ts'

type Options = Omit<SchedulesOptions, 'owner'>
type Log = (message: string, data: Readonly<Record<string, unknown>>) => void

export function adminSchedules(options: Options, operator: string | undefined, log: Log): AdminSchedules {
  const of = (owner: string): Schedules => new Schedules({ ...options, owner })
  const write = async <T>(what: string, given: NamedSchedule, run: (of: Schedules, name: string) => Promise<T>) => {
    const { owner, name } = targetOf(given)
    const answer = await run(of(owner), name)
    // False: there is no such schedule, and nothing was done.
    if (answer !== false) log(`${what} schedule '${name}' of ${owner}`, operator === undefined ? {} : { by: operator })
    return answer
  }
  return {
    async list(filter) {
      const { face, owner } = resolveOptions('schedules.list', filter, scheduleFilterOptions)
      const owners = (await options.whenConnected(() => scheduleOwners(options.storage))).filter((stored) => {
        const parsed = parseType(stored)
        return (face === undefined || parsed.face === face) && (owner === undefined || parsed.name === owner)
      })
      const lists = await Promise.all(
        owners.map(async (stored) =>
          (await of(stored).list()).map(({ info, stored: entry }) => shown(stored, info, entry)),
        ),
      )
      return lists.flat()
    },
    async put(given, rule: ScheduleRule) {
      const { name } = targetOf(given)
      const resolved = resolveRule(`schedule '${name}'`, rule)
      await write('changed', given, async (schedules) => {
        const { job } = await schedules.get(name)
        await schedules.put({ name, ...resolved, job })
      })
    },
    remove: async (given) => write('removed', given, (schedules, name) => schedules.remove(name)),
    async pause(given, pauseOptions) {
      const { by = operator } = resolveOptions('schedules.pause', pauseOptions, byOptions)
      return write('paused', given, (schedules, name) => schedules.pause(name, by))
    },
    resume: async (given) => write('resumed', given, (schedules, name) => schedules.resume(name)),
    fire: async (given) => write('fired', given, (schedules, name) => schedules.fire(name)),
    async runs(schedules, given) {
      const { spanMs, most } = resolveOptions('schedules.runs', given, runsOptions)
      for (const schedule of schedules) targetOf(schedule)
      const { storage, whenConnected } = options
      return whenConnected(() => scheduleRuns(storage, schedules, { now: options.clock.now(), spanMs, most }))
    },
    async preview(given, count = 5) {
      const { owner, name } = targetOf(given)
      return of(owner).preview(name, count)
    },
    async previewRule(rule, count = 5) {
      integer(1, 1_000)('count', count)
      return previewSlots(resolveRule('rule', rule), options.clock.now(), count)
    },
  }
}

/** A schedule may be given as it was listed. @throws TypeError INVALID_ARGUMENT */
function targetOf(given: NamedSchedule): { readonly owner: string; readonly name: string } {
  if (given === null || typeof given !== 'object') {
    throw invalidArgument('schedule', 'an object with face, owner and name', given)
  }
  const { face, owner, name } = readable('schedule', () => ({ face: given.face, owner: given.owner, name: given.name }))
  namedScheduleOptions.face.check('face', face)
  namedScheduleOptions.owner.check('owner', owner)
  namedScheduleOptions.name.check('name', name)
  return { owner: storedType(face, owner), name }
}

function shown(owner: string, info: ScheduleInfo, { job, since }: StoredSchedule): AdminScheduleInfo {
  const { face, name } = parseType(owner)
  return { ...info, face, owner: name, typeName: parseType(job.type).name, payload: payloadOf(job.payload), since }
}

/** Undefined if a serde of the face wrote it. */
function payloadOf(bytes: Bytes | undefined): unknown {
  try {
    return valueCodec.decode(bytes)
  } catch {
    return undefined
  }
}
