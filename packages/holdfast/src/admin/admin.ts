// The admin handle, as a type: what an operator, a dashboard or a command line can do with the jobs of every face.

import type { Clock } from '../clock.ts'
import type { Logger } from '../engine/emit.ts'
import type { SeenFinding } from '../engine/doctor/seen-findings.ts'
import type { History, HistoryRange } from '../engine/history/read-history.ts'
import type { Explanation } from '../engine/explain/explanation.ts'
import type { LimitsInfo, ReadLimitsOptions } from '../engine/limits/limits-calls.ts'
import type { GroupLimitsPatch, LimitsPatch } from '../engine/limits/limits-options.ts'
import type { BulkAction, BulkOptions } from '../engine/operate/bulk-action.ts'
import type { RedriveOptions } from '../engine/operate/bulk.ts'
import type { OperatorCancelOptions } from '../engine/operate/cancel.ts'
import type { JobDetails } from '../engine/operate/job-details.ts'
import type { JobFilter, JobQuery } from '../engine/operate/job-filter.ts'
import type { JobItem, NamedJob } from '../engine/operate/job-item.ts'
import type { JobTree } from '../engine/operate/job-tree.ts'
import type { JobPage } from '../engine/operate/list-jobs.ts'
import type { RescheduleOptions, RescheduleResult, RunNowOptions } from '../engine/operate/reschedule.ts'
import type { OperatorCancelResult, RemoveResult, RetryResult } from '../engine/operate/results.ts'
import type { TypeSummary } from '../engine/operate/type-summary.ts'
import type { PreviewedSlot } from '../engine/schedule/preview.ts'
import type { ScheduleRule } from '../engine/schedule/schedule.ts'
import type { ScheduleInfo } from '../engine/schedule/schedules.ts'
import type { WorkerInfo } from '../engine/work/presence.ts'
import type { Storage } from '../storage/storage.ts'
import type { EventCounters } from './counters.ts'
import type { FleetEventStream } from './fleet-events.ts'
import type { AddJobOptions, AddJobResult } from './add-job.ts'
import type { AdminAudit } from './audit.ts'
import type { NamedType } from './options.ts'
import type { ReplayOptions, ReplayResult } from './replay.ts'
import type { ScheduleRuns } from './schedule-runs.ts'
import type { SweepResult } from './sweep.ts'

/** Options of createAdmin(). */
export interface AdminOptions {
  /** Storage of the jobs. Required. */
  readonly storage: Storage
  /** Name of the operator, in the log, in pauses and in limits. @default none */
  readonly by?: string | undefined
  /** Receives one line per write: what, how many, and the operator. pino and console fit. @default none */
  readonly logger?: Logger | undefined
  /** Source of local time; a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock | undefined
}

/** Restricts jobs to some types: by `types`, or by a face, a name or both. Without any: every type. */
export interface TypeFilter {
  /** `queue`, `chain`, `task`, or that of a package that builds on one of them. */
  readonly face?: string | undefined
  /** Name of a queue, job type or message queue. */
  readonly name?: string | undefined
  readonly types?: readonly NamedType[] | undefined
}

/** Jobs of the types that match, with the states, group, search fields and times that match. */
export interface AdminJobFilter extends TypeFilter, JobFilter {}

/** As AdminJobFilter, with order, cursor, limit and `payload`. */
export interface AdminJobQuery extends TypeFilter, JobQuery {}

/** Jobs one by one. */
export interface AdminJobs {
  /** Lists jobs, a page at a time. @throws INVALID_ARGUMENT, StorageError, CLOSED */
  list(query?: AdminJobQuery): Promise<JobPage>
  /** Returns everything that is stored of a job, decoded as far as possible; null if it is unknown. @throws as list() */
  get(job: NamedJob): Promise<JobDetails | null>
  /** Returns those of the jobs that exist, as a list shows them, with their latest errors. @throws as list() */
  find(jobs: readonly NamedJob[]): Promise<JobItem[]>
  /** Makes a failed or cancelled job due now, with its attempts counted anew. @throws as list() */
  retry(job: NamedJob): Promise<RetryResult>
  retry(jobs: readonly NamedJob[]): Promise<RetryResult[]>
  /** Cancels a waiting job; a running one as the options say. @throws as list() */
  cancel(job: NamedJob, options?: OperatorCancelOptions): Promise<OperatorCancelResult>
  /** Deletes the record of an ended job, with the chain that it belongs to. @throws as list() */
  remove(job: NamedJob): Promise<RemoveResult>
  /** Sets when a waiting job is due. @throws as list() */
  reschedule(job: NamedJob, options: RescheduleOptions): Promise<RescheduleResult>
  /** Makes a waiting job due now. @throws as list() */
  runNow(job: NamedJob, options?: RunNowOptions): Promise<RescheduleResult>
  /**
   * Adds a job to a queue, with the defaults of a Queue; limits of what may wait do not refuse it. Code starts chains and tasks.
   * @throws as list(), SerializationError, GROUP_KIND
   */
  add(queue: NamedType, options?: AddJobOptions): Promise<AddJobResult>
  /**
   * Adds a new job like this one, with another payload if it is given; the search field `replayOf` of the new one is the id of the old. Of queues,
   * and of jobs that begin a chain. @throws as list(), SerializationError
   */
  replay(job: NamedJob, options?: ReplayOptions): Promise<ReplayResult>
  /** Returns the chain of a job with the chains that it waits for, at most 1,000 jobs; null if the job is unknown. @throws as list() */
  tree(job: NamedJob): Promise<JobTree | null>
}

/** Actions on many jobs: those given, or all that match a filter when the action begins. */
export interface AdminBulk {
  /** Makes failed jobs due now; with `states`, cancelled ones too. @throws INVALID_ARGUMENT */
  retry(jobs: AdminJobFilter | readonly NamedJob[], options?: BulkOptions): BulkAction
  /** Cancels waiting jobs; with `abort` or `force`, running ones too. @throws INVALID_ARGUMENT */
  cancel(jobs: AdminJobFilter | readonly NamedJob[], options?: BulkOptions & OperatorCancelOptions): BulkAction
  /** Deletes the records of ended jobs. @throws INVALID_ARGUMENT */
  remove(jobs: AdminJobFilter | readonly NamedJob[], options?: BulkOptions): BulkAction
  /** Runs failed jobs again, with other payloads if `edit` changes them. @throws INVALID_ARGUMENT */
  redrive(jobs: Omit<AdminJobFilter, 'states'> | readonly NamedJob[], options?: RedriveOptions): BulkAction
}

/** The name of a schedule, with the face that has it. */
export interface NamedSchedule {
  /** `queue`, `chain` or `task`. */
  readonly face: string
  /** Name of the queue or message queue; `''` of chains, which have one set of names. */
  readonly owner: string
  readonly name: string
}

/** A schedule, with the face that has it, and its job. */
export interface AdminScheduleInfo extends ScheduleInfo, NamedSchedule {
  readonly name: string
  /** Name of the type of its jobs. */
  readonly typeName: string
  /** What its jobs are given, decoded as far as possible. */
  readonly payload: unknown
  /** Only slots after it are fired: when it was put, changed or resumed. Epoch ms. */
  readonly since: number
}

/** The schedules of every face on the storage. */
export interface AdminSchedules {
  /** Lists all, or those of one face or owner. @throws INVALID_ARGUMENT, StorageError, CLOSED */
  list(filter?: {
    readonly face?: string | undefined
    readonly owner?: string | undefined
  }): Promise<AdminScheduleInfo[]>
  /**
   * Changes when a stored schedule fires; its jobs stay as they are. Only slots from now on are fired.
   * @throws SCHEDULE_NOT_FOUND, INVALID_ARGUMENT, MISSING_DEPENDENCY, StorageError, CLOSED
   */
  put(schedule: NamedSchedule, rule: ScheduleRule): Promise<void>
  /** Removes a schedule; its jobs stay. False if there is none. @throws as list() */
  remove(schedule: NamedSchedule): Promise<boolean>
  /** Fires no slot until resume(). @param options.by default: that of createAdmin() @throws as list() */
  pause(schedule: NamedSchedule, options?: { readonly by?: string | undefined }): Promise<boolean>
  /** Slots that passed meanwhile are not made up for. @throws as list() */
  resume(schedule: NamedSchedule): Promise<boolean>
  /**
   * Returns the slots of schedules, as list() returned them: those before now with what became of their jobs, and those to come.
   * @param options.spanMs time before and after now; default: a day @param options.most slots on each side, default 48 @throws as list()
   */
  runs(
    schedules: readonly AdminScheduleInfo[],
    options?: { readonly spanMs?: number | undefined; readonly most?: number | undefined },
  ): Promise<ScheduleRuns[]>
  /** Adds a job of the schedule now, beside its slots. @returns the id of the job @throws SCHEDULE_NOT_FOUND, as list() */
  fire(schedule: NamedSchedule): Promise<string>
  /** Returns the next instants, in the time zone of the schedule. @param count 1 … 1_000, default 5 @throws SCHEDULE_NOT_FOUND, as list() */
  preview(schedule: NamedSchedule, count?: number): Promise<PreviewedSlot[]>
  /**
   * Returns the next instants of a rule that need not be stored, by the clock of this process. It asks no storage.
   * @param count 1 … 1_000, default 5 @throws INVALID_ARGUMENT, MISSING_DEPENDENCY
   */
  previewRule(rule: ScheduleRule, count?: number): Promise<PreviewedSlot[]>
}

/** The limits of a type, of any face: what code declares, and what operators set over it. */
export interface AdminLimits {
  /** Returns the limits of a type with their use. @throws INVALID_ARGUMENT, StorageError, CLOSED */
  get(target: NamedType, options?: ReadLimitsOptions): Promise<LimitsInfo>
  /**
   * Returns the limits of many types, in their order, by few reads. A type that is given as types() returned it is not counted again
   * unless it has limits. `groups`: keys of groups to show, too. @throws as get()
   */
  list(
    targets: readonly (NamedType & ReadLimitsOptions & Partial<Pick<TypeSummary, 'states' | 'slowedUntil'>>)[],
  ): Promise<LimitsInfo[]>
  /**
   * Sets limits over those of the code, field by field, for all processes: promptly, and within 5 s if a hint is lost. A null removes what
   * was set before. With `group`, for that group alone.
   * @param options.by default: that of createAdmin() @throws as get()
   */
  set(
    target: NamedType & { readonly group?: undefined },
    patch: LimitsPatch,
    options?: { readonly by?: string | undefined },
  ): Promise<void>
  set(
    target: NamedType & { readonly group: string },
    patch: GroupLimitsPatch,
    options?: { readonly by?: string | undefined },
  ): Promise<void>
  /** Removes all that operators set: for the type, or with `group` for that group alone. What code declares stays. @throws as get() */
  clear(
    target: NamedType & { readonly group?: string | undefined },
    options?: { readonly by?: string | undefined },
  ): Promise<void>
}

/** Operates the jobs of every face on one storage. */
export interface Admin extends AsyncDisposable {
  /** Returns every type that has a job or is paused, with its counts. @throws StorageError, CLOSED */
  types(): Promise<TypeSummary[]>
  readonly jobs: AdminJobs
  readonly bulk: AdminBulk
  readonly schedules: AdminSchedules
  readonly limits: AdminLimits
  /** What it reads and writes: the driver, and whether lists by creation follow an index, so that their pages cost little. */
  readonly storage: { readonly driver: string; readonly createdIndexed: boolean }
  /** Who changed what, by all handles on the storage, for 30 days. */
  readonly audit: AdminAudit
  /** Returns a handle for another operator, on the same connection. It works until this one is closed. @throws TypeError INVALID_ARGUMENT */
  as(by: string): Admin
  /** Runs failed jobs again: those that match when it begins. The same as bulk.redrive(). @throws INVALID_ARGUMENT */
  redrive(filter?: Omit<AdminJobFilter, 'states'>, options?: RedriveOptions): BulkAction
  /**
   * Pauses a type, or a group of it: no process claims its jobs. What runs goes on, and jobs are accepted.
   * @param options.by default: that of createAdmin()
   * @throws INVALID_ARGUMENT, StorageError, CLOSED
   */
  pause(
    target: NamedType & { readonly group?: string | undefined },
    options?: { readonly by?: string | undefined },
  ): Promise<void>
  /** Ends a pause. @throws as pause() */
  resume(
    target: NamedType & { readonly group?: string | undefined },
    options?: { readonly by?: string | undefined },
  ): Promise<void>
  /**
   * Says why a job waits, runs or is gone: reasons with a code and a sentence, the decisive one first.
   * @throws INVALID_ARGUMENT, StorageError, CLOSED
   */
  explain(job: NamedJob): Promise<Explanation>
  /**
   * Finds what may cost jobs or keep them from running: in types, workers and schedules, and in the server, as far as the driver can look.
   * The most severe first; empty if all is well. It counts all jobs. @throws as types()
   */
  doctor(): Promise<SeenFinding[]>
  /** Returns the workers that are alive, the longest running first. One with `presenceMs: false` is not among them. @throws as types() */
  workers(): Promise<WorkerInfo[]>
  /**
   * Returns what workers did in the last 15 minutes or hour by minute, or in the last day or 30 days by hour: of all types, or of one. Workers
   * write it at most once in 10 s; those with `presenceMs: false` do not. @throws as types(), and INVALID_ARGUMENT
   */
  history(range: HistoryRange, type?: NamedType): Promise<History>
  /**
   * Returns a stream of what happens to jobs from now on: in all processes if the storage has `features.fleetEvents`, else in this
   * one (`scope` of the stream). Without `types`: to the jobs of every type.
   * @throws INVALID_ARGUMENT
   */
  events(options?: {
    readonly types?: readonly NamedType[] | undefined
    readonly signal?: AbortSignal | undefined
  }): FleetEventStream
  /** Returns how often each event happened since the first call of this method, which begins to count. @throws as types() */
  counters(): Promise<EventCounters>
  /**
   * Deletes what has expired, as workers do by themselves, and ends waiting jobs whose deadline is over. Counts to keep
   * (`retention: { completed: { count } }`) are known to workers only. @throws as types()
   */
  sweep(): Promise<SweepResult>
  /** Ends its streams and disconnects. A storage that others use stays connected. Never rejects. */
  close(): Promise<void>
}
