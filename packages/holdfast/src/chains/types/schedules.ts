// Schedules of chains, as types.

import type { RetentionOptions } from '../../engine/job/retention.ts'
import type { ScheduleRule } from '../../engine/schedule/schedule.ts'
import type { ScheduleCalls } from '../../engine/schedule/schedule-calls.ts'
import type { ScheduleInfo } from '../../engine/schedule/schedules.ts'
import type { SearchFields } from '../../storage/storage.ts'
import type { EntryName, GivenInput } from './job-types.ts'

/** What the chains of a schedule have beside their type and input. */
export interface ScheduledChainOptions extends ScheduleRule {
  /** Integer -100…100, larger first. @default 0 */
  readonly priority?: number | undefined
  /** What a start of the first job takes of the rates of its type: an integer of at least 1. @default 1 */
  readonly weight?: number | undefined
  /** Longest run of an attempt, in ms. @default that of the worker */
  readonly timeoutMs?: number | undefined
  /** Time from a slot until the first attempt, in ms. A chain that was not started by then ends as cancelled. */
  readonly expiresInMs?: number | undefined
  /** Fields by which lists find the jobs: at most 16 texts, numbers and booleans. */
  readonly search?: SearchFields | undefined
  /** How long ended chains are kept. @default that of the client, or its default */
  readonly retention?: RetentionOptions | undefined
}

/** A schedule of chains: when it fires, and the chain that each slot starts. */
export type ChainSchedule<T, N extends EntryName<T> = EntryName<T>> = N extends unknown
  ? ScheduledChainOptions & {
      /** Job type of the first job: one that is declared with `entry: true`, and without blockers. */
      readonly typeName: N
      readonly input: GivenInput<T, N>
    }
  : never

/** A schedule of chains, as list() shows it. */
export interface ChainScheduleInfo extends ScheduleInfo {
  readonly typeName: string
  readonly input: unknown
}

/** The schedules of the chains on a storage: `client.schedules`. Their names are unique over all job types. */
export interface ChainSchedules<T> extends ScheduleCalls<ChainScheduleInfo> {
  /**
   * Stores a schedule under a name, or replaces the one that has it. Of a changed one, only slots from now on are fired. Every started
   * worker of the job type fires it.
   * @throws INVALID_ARGUMENT, also for a rule that never matches; MISSING_DEPENDENCY without croner; JobTypeValidationError
   */
  put(name: string, schedule: ChainSchedule<T>): Promise<void>
}
