// Schedules of chains: what a given one is stored as, and how a stored one is shown. All chains of a storage share one owner, so that
// a name means one schedule wherever a client or a worker uses it.

import { type RetentionOptions, retainedBy } from '../../engine/job/retention.ts'
import type { ScheduleRule } from '../../engine/schedule/schedule.ts'
import { checkScheduleName } from '../../engine/schedule/schedule.ts'
import { splitSchedule } from '../../engine/schedule/schedule-calls.ts'
import type { NewSchedule } from '../../engine/schedule/schedule-store.ts'
import type { ScheduleInfo } from '../../engine/schedule/schedules.ts'
import type { StoredSchedule } from '../../engine/schedule/stored-schedule.ts'
import type { Retention } from '../../storage/storage.ts'
import { isGiven, scheduledChainOptions, startOptions } from '../options.ts'
import type { JobTypeRegistry } from '../registry.ts'
import type { ChainScheduleInfo } from '../types/schedules.ts'
import { sharedFields, type StartRequest } from './start-request.ts'
import { typeNameOf, typeOf } from './stored-type.ts'
import { decodeInput, encodeInput } from './values.ts'

/** The owner of all schedules of chains. */
export const scheduleOwner = typeOf('')

export type GivenChainSchedule = ScheduleRule &
  Pick<StartRequest, 'typeName' | 'input' | 'priority' | 'weight' | 'timeoutMs' | 'expiresInMs' | 'search'> & {
    readonly retention?: RetentionOptions | undefined
  }

/** @throws INVALID_ARGUMENT, JobTypeValidationError, SerializationError */
export async function newScheduleOf(
  name: string,
  given: GivenChainSchedule,
  registry: JobTypeRegistry<unknown>,
  retention: Retention,
): Promise<NewSchedule> {
  checkScheduleName(name)
  isGiven(`schedule '${name}'`, given)
  const { rule, rest } = splitSchedule(name, given, scheduledChainOptions)
  const { typeName, input } = rest
  startOptions.typeName.check('typeName', typeName)
  await registry.validateEntry(typeName)
  const payload = encodeInput(typeName, await registry.parseInput(typeName, input))
  await registry.validateBlockers(typeName, [])
  const job = {
    type: typeOf(typeName),
    payload,
    retention: retainedBy(rest.retention, retention),
    ...sharedFields(rest),
  }
  return { name, ...rule, job }
}

export function shownSchedule(info: ScheduleInfo, { job }: StoredSchedule): ChainScheduleInfo {
  const typeName = typeNameOf(job.type)
  return { ...info, typeName, input: decodeInput(typeName, job.payload) }
}
