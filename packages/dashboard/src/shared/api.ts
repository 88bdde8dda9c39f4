// What the server answers and the app shows: one file for both sides.

import type {
  AdminScheduleInfo,
  BulkProgress,
  History,
  HistoryRange,
  JobItem,
  JobLogLine,
  LimitsInfo,
  NamedJob,
  ScheduleRuns,
  SeenFinding,
  TypeSummary,
  WorkerInfo,
} from 'holdfast'
import type { AttemptView, ErrorDetails, PreviewedSlot } from 'holdfast'
import type { Permission } from './permissions.ts'
import type { JobAction, JobState } from './states.ts'

/** Every answer to a GET: the data, and what they cost. */
export interface Answer<T> {
  /** When the storage was read: epoch ms, by the clock of the server. */
  readonly at: number
  /** How long the read took, in ms. Viewers share one read. Of a view of counts alone: how long this request waited for them. */
  readonly costMs: number
  /** How long the count took that a view of counts shows, in ms. It runs beside the requests. Absent: the first one is under way. */
  readonly countMs?: number
  readonly data: T
}

export interface Failure {
  readonly code: string
  /** A sentence for people. */
  readonly error: string
}

export interface Session {
  readonly actor: string
  readonly can: readonly Permission[]
  /** Goes back in the header of every write. */
  readonly token: string
  readonly basePath: string
  /** Whether there is a federation to show. */
  readonly hasPeers: boolean
}

/** Why a type needs attention, the most urgent first. */
export type Attention = 'no_worker' | 'late' | 'failed' | 'paused' | 'slowed'

export interface TypeRow extends TypeSummary {
  readonly attention: readonly Attention[]
  /** Workers that serve it. */
  readonly workers: number
}

export interface Totals {
  readonly states: Readonly<Record<JobState, number>>
  readonly due: number
  readonly oldestDueMs?: number
  readonly types: number
  readonly paused: number
  readonly workers: number
  /** Jobs that the workers may run at a time. */
  readonly slots: number
}

export interface Overview {
  /** Absent: the first count is under way. The stream of the page has them once it is done. */
  readonly totals?: Totals
  /** By what needs attention. */
  readonly types: readonly TypeRow[]
  /** Types that are left out, because there are more than a page shows. */
  readonly cut: number
}

/** A type with the limits in force, and their use. */
export interface TypesRow extends TypeRow {
  readonly limits: Pick<LimitsInfo['effective'], 'concurrency' | 'rate'> & Pick<LimitsInfo, 'use'>
}

export interface TypesPage {
  readonly types: readonly TypesRow[]
  /** Types whose name has the text that was asked for. */
  readonly matching: number
  readonly total: number
  /** From 0. */
  readonly page: number
  readonly pages: number
}

/** Counts beside the navigation. */
export interface Summary {
  /** Absent: as of the overview. */
  readonly totals?: Totals
}

export type { AuditPage, HistoryRange, SeenFinding, JobTree, TreeJob } from 'holdfast'

/** Something that happened to the workers, at the begin of a step of the history. */
export interface HistoryMark {
  readonly at: number
  readonly text: string
}

export interface HistoryPage extends History {
  readonly marks: readonly HistoryMark[]
}

/** As admin.history() takes them. */
export const historyRanges = ['15m', '1h', '24h', '30d'] as const satisfies readonly HistoryRange[]

export interface FindingsPage {
  /** The most severe first. */
  readonly findings: readonly SeenFinding[]
  /** Findings that are left out, because there are more than a page shows. */
  readonly cut: number
}

export interface JobRow extends JobItem {
  /** First line of the latest error. */
  readonly errorLine?: string
}

/** `storage`: the order in which the storage keeps jobs, whose pages cost the same whatever their number. */
export type SortOrder = 'new' | 'old' | 'storage'

export interface JobsPage {
  readonly sort: SortOrder
  readonly items: readonly JobRow[]
  readonly nextCursor?: string
  /** The storage looked at a part of the jobs. */
  readonly truncated?: true
  /** Names of all types, for completion. */
  readonly types: readonly { readonly face: string; readonly name: string }[]
}

/** When jobs of a list were added, by state. */
export interface JobsHistogram {
  /** Time from one point to the next, in ms. */
  readonly stepMs: number
  /** The oldest first, without gaps. Empty: there is nothing to show. */
  readonly points: readonly { readonly at: number; readonly states: Readonly<Partial<Record<JobState, number>>> }[]
  /** Jobs that were read: the first ones of the list. */
  readonly counted: number
  /** More jobs match, or may match. */
  readonly hasMore: boolean
}

/** A value as text. Invariant: at most 256 KiB, so that a page never holds a whole large payload. */
export interface ShownValue {
  readonly text: string
  /** Length of the whole text in bytes, if it was cut. */
  readonly cutFrom?: number
  /** Why it is not shown as a value. */
  readonly note?: string
}

export interface JobPageData extends NamedJob {
  readonly state: JobState
  readonly reason?: string
  readonly attempts: number
  readonly maxAttempts?: number
  readonly snoozes: number
  readonly history: readonly AttemptView[]
  readonly error?: ErrorDetails
  readonly workerId?: string
  readonly createdAt: number
  readonly runAt: number
  readonly startedAt?: number
  readonly finishedAt?: number
  readonly expiresAt?: number
  readonly leaseUntil?: number
  readonly deadlineAt?: number
  readonly timeoutMs?: number
  readonly priority: number
  readonly group?: string
  readonly weight?: number
  readonly deduplicationKey?: string
  readonly search?: Readonly<Record<string, string | number | boolean>>
  readonly cancelling?: true
  readonly cancelReason?: string
  readonly chain?: NamedJob
  readonly blockers: readonly NamedJob[]
  /** Why it is where it is: the sentences of explain(), the decisive one first. */
  readonly reasons: readonly string[]
  /** Absent without the permission viewPayload. */
  readonly parts?: {
    readonly payload?: ShownValue
    readonly result?: ShownValue
    readonly progress?: ShownValue
    readonly log: { readonly lines: readonly JobLogLine[]; readonly dropped: number }
  }
}

export interface ScheduleRow extends Omit<AdminScheduleInfo, 'payload'> {
  readonly next: readonly PreviewedSlot[]
  /** Of the last and the next 24 hours, or fewer of a dense rule. */
  readonly runs: ScheduleRuns
}

/** The next runs of a rule. */
export interface SchedulePreview {
  readonly next: readonly PreviewedSlot[]
}

export interface SchedulesPage {
  readonly schedules: readonly ScheduleRow[]
  readonly cut: number
}

export interface WorkerRow extends WorkerInfo {
  /** Whether no other worker has its label, by which running jobs are found. */
  readonly isAlone: boolean
  /** What it runs, as far as the list of running jobs shows it. */
  readonly running: readonly JobItem[]
}

export interface WorkersPage {
  readonly workers: readonly WorkerRow[]
  readonly cut: number
  /** More jobs run than were read. */
  readonly moreRunning: boolean
}

export interface LimitsRow extends LimitsInfo {
  readonly face: string
  readonly name: string
  readonly pausedGroups: readonly string[]
}

export interface LimitsPage {
  readonly types: readonly LimitsRow[]
  readonly cut: number
}

/** Another server of a federation. Instants are epoch ms. */
export interface PeerRow {
  readonly origin: string
  /** `healthy`, `unhealthy`, `blocked` or `unknown`. */
  readonly state: string
  readonly why?: string | undefined
  readonly lastSeen?: number | undefined
  /** Deliveries that wait for it. */
  readonly open: number
  readonly oldestOpenAt?: number | undefined
  readonly lastError?: string | undefined
  readonly contact?: { readonly failures: number; readonly nextContactAt: number }
  /** No delivery to it starts until an operator resumes it. */
  readonly isPaused: boolean
}

export interface PeersPage {
  /** Those that need attention first. */
  readonly peers: readonly PeerRow[]
  readonly hasMore: boolean
}

/** How many jobs an action would change. */
export interface BulkPreview {
  readonly count: number
  /** False: at least so many. */
  readonly isExact: boolean
}

export interface BulkState extends BulkProgress {
  readonly id: string
  readonly action: JobAction
  readonly isRunning: boolean
  readonly stopped?: boolean
  /** The first errors, as sentences. */
  readonly errors: readonly string[]
}

/** What became of each job: `retried`, `not_retryable`, `cancelled`, `processing`, `removed`, `rescheduled`, … */
export interface ActionResult {
  readonly results: readonly (NamedJob & { readonly status: string })[]
}

/** The largest page, and the largest value that is shown, in bytes. */
export const [largestPage, largestValue] = [200, 262_144]
/** Name of the header that carries the token of the session. */
export const tokenHeader = 'x-holdfast-token'
