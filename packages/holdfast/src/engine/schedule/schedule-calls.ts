// The calls on schedules as a face shows them: `queue.schedules`, `client.schedules`, `tasks.schedules`. Each face says how its own
// schedule becomes a stored one, and how a stored one is shown.

import { invalidArgument } from '../../errors.ts'
import { text } from '../../option-checks.ts'
import { resolveOptions, type Table } from '../../resolve-options.ts'
import type { PreviewedSlot } from './preview.ts'
import { resolveRule, type Schedule, scheduleOptions, type ScheduleRule } from './schedule.ts'
import type { NewSchedule } from './schedule-store.ts'
import { type ScheduleInfo, Schedules, type SchedulesOptions } from './schedules.ts'
import type { StoredSchedule } from './stored-schedule.ts'

/** What every face can do with stored schedules. Every call @throws StorageError, and CLOSED or QUEUE_STOPPED after its end */
export interface ScheduleCalls<Info extends ScheduleInfo> {
  /** Removes a schedule; its jobs stay. One that code declares is stored again at the next start: pause it instead. False if there is none. */
  remove(name: string): Promise<boolean>
  list(): Promise<Info[]>
  /** Fires no slot until resume(). What a slot has added already goes on. False if there is none. */
  pause(name: string, options?: { readonly by?: string | undefined }): Promise<boolean>
  /** Slots that passed meanwhile are not made up for. False if there is none. */
  resume(name: string): Promise<boolean>
  /** Adds a job of the schedule now, beside its slots. @returns the id of the job @throws SCHEDULE_NOT_FOUND */
  fire(name: string): Promise<string>
  /** Returns the next instants, in the time zone of the schedule. @param count 1 … 1_000, default 5 @throws SCHEDULE_NOT_FOUND */
  preview(name: string, count?: number): Promise<PreviewedSlot[]>
}

const pauseOptions = { by: { check: text(256) } } as const satisfies Table

export function scheduleCalls<Given, Info extends ScheduleInfo>(
  options: SchedulesOptions,
  toStored: (name: string, given: Given) => NewSchedule | Promise<NewSchedule>,
  toShown: (info: ScheduleInfo, stored: StoredSchedule) => Info,
): ScheduleCalls<Info> & { put(name: string, given: Given): Promise<void> } {
  const schedules = new Schedules(options)
  return {
    put: async (name, given) => schedules.put(await toStored(name, given)),
    remove: (name) => schedules.remove(name),
    list: async () => (await schedules.list()).map(({ stored, info }) => toShown(info, stored)),
    pause: async (name, given) => schedules.pause(name, resolveOptions('pause', given, pauseOptions).by),
    resume: (name) => schedules.resume(name),
    fire: (name) => schedules.fire(name),
    preview: async (name, count = 5) => schedules.preview(name, count),
  }
}

/** The rule of a given schedule, complete, and its other options. @param table of the whole @throws TypeError INVALID_ARGUMENT */
export function splitSchedule<T extends Table & typeof scheduleOptions, G extends ScheduleRule>(
  name: string,
  given: G,
  table: T,
): { readonly rule: Schedule; readonly rest: Omit<G, keyof ScheduleRule> } {
  const where = `schedule '${name}'`
  if (given === undefined) throw invalidArgument(where, 'an object with cron or everyMs', given)
  const resolved: Readonly<Record<string, unknown>> = resolveOptions(where, given, table as Table, `${where}: `)
  // Of those that are not given, the rule has the defaults itself.
  const isGiven = (key: string): boolean => Object.hasOwn(given, key)
  const rule = Object.fromEntries(
    Object.keys(scheduleOptions).flatMap((key) => (isGiven(key) ? [[key, resolved[key]]] : [])),
  )
  const rest = Object.fromEntries(Object.entries(resolved).filter(([key]) => !(key in scheduleOptions)))
  return { rule: resolveRule(where, rule), rest: rest as Omit<G, keyof ScheduleRule> }
}
