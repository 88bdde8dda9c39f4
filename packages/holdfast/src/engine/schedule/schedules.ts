// The calls on schedules that every face has.

import type { Clock } from '../../clock.ts'
import { HoldfastError } from '../../errors.ts'
import { integer } from '../../option-checks.ts'
import type { PublishEvent } from '../events.ts'
import type { GuardedStorage } from '../guard.ts'
import { previewSlots, type PreviewedSlot } from './preview.ts'
import { instantsOf } from './rule.ts'
import { checkScheduleName, type Schedule } from './schedule.ts'
import { type NewSchedule, ScheduleStore } from './schedule-store.ts'
import { firedJob } from './slot-job.ts'
import { StorageTime } from './storage-time.ts'
import type { StoredSchedule } from './stored-schedule.ts'

/** A schedule, as list() shows it. */
export interface ScheduleInfo extends Schedule {
  readonly name: string
  /** Epoch ms. Absent: no later slot, or it is paused. */
  readonly nextAt?: number | undefined
  /** The last slot that was fired, as far as it is known. */
  readonly lastAt?: number | undefined
  readonly paused?: { readonly since: number; readonly by?: string | undefined } | undefined
  /** The release of the code that declared it. Absent: an operator put it. */
  readonly release?: number | undefined
}

export interface SchedulesOptions {
  readonly storage: GuardedStorage
  readonly clock: Clock
  readonly owner: string
  readonly publishEvent: PublishEvent
  whenConnected<T>(call: () => Promise<T>): Promise<T>
}

export class Schedules {
  readonly #options: SchedulesOptions
  readonly #store: ScheduleStore
  readonly #time: StorageTime

  constructor(options: SchedulesOptions) {
    this.#options = options
    this.#time = new StorageTime(options.storage, options.clock)
    this.#store = new ScheduleStore(options.storage, options.owner, this.#time)
  }

  async put(schedule: NewSchedule): Promise<void> {
    await instantsOf(schedule)
    await this.#options.whenConnected(() => this.#store.put(schedule))
  }

  async remove(name: string): Promise<boolean> {
    checkScheduleName(name)
    return this.#options.whenConnected(() => this.#store.remove(name))
  }

  async pause(name: string, by?: string): Promise<boolean> {
    checkScheduleName(name)
    return this.#options.whenConnected(() => this.#store.pause(name, by))
  }

  async resume(name: string): Promise<boolean> {
    checkScheduleName(name)
    return this.#options.whenConnected(() => this.#store.resume(name))
  }

  async list(): Promise<{ readonly stored: StoredSchedule; readonly info: ScheduleInfo }[]> {
    return this.#options.whenConnected(async () => {
      const [stored, marks, now] = [await this.#store.list(), await this.#store.marks(), await this.#time.now()]
      return Promise.all(
        stored.map(async (schedule) => ({
          stored: schedule,
          info: await infoOf(schedule, marks.get(schedule.name)?.firedAt, now),
        })),
      )
    })
  }

  /** Adds a job of the schedule now. The slots are not affected. @returns its id @throws HoldfastError SCHEDULE_NOT_FOUND */
  async fire(name: string): Promise<string> {
    const { storage, clock, publishEvent } = this.#options
    const schedule = await this.get(name)
    const job = firedJob(schedule, clock.newId())
    await this.#options.whenConnected(() => storage.add([job]))
    publishEvent({ name: 'schedule_fired', schedule: name, type: job.type, id: job.id })
    return job.id
  }

  /** The next instants. @throws HoldfastError SCHEDULE_NOT_FOUND */
  async preview(name: string, count: number): Promise<PreviewedSlot[]> {
    integer(1, 1_000)('count', count)
    const schedule = await this.get(name)
    return previewSlots(schedule, await this.#options.whenConnected(() => this.#time.now()), count)
  }

  /** @throws HoldfastError SCHEDULE_NOT_FOUND */
  async get(name: string): Promise<StoredSchedule> {
    checkScheduleName(name)
    const schedule = await this.#options.whenConnected(() => this.#store.get(name))
    if (schedule) return schedule
    const known = (await this.list()).map(({ info }) => `'${info.name}'`).join(', ')
    const others = known === '' ? 'There is none.' : `There are ${known}.`
    throw new HoldfastError('SCHEDULE_NOT_FOUND', `Schedules: there is no schedule '${name}'. ${others}`, {
      schedule: name,
    })
  }
}

async function infoOf(schedule: StoredSchedule, lastAt: number | undefined, now: number): Promise<ScheduleInfo> {
  const { job: _, since: __, ...info } = schedule
  // Without croner, a schedule that another process fires is listed all the same.
  const instants = schedule.paused ? undefined : await instantsOf(schedule).catch(() => undefined)
  return { ...info, lastAt, nextAt: instants?.next(now) }
}
