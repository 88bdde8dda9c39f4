// Jobs and chains as they are read: records whose types follow from the registry, as unions on `state`.

import type { Undecodable } from '../../engine/job/job-view.ts'
import type { TraceContext } from '../../engine/tracing.ts'
import type { AttemptView } from '../../engine/job/job-view.ts'
import type { JobSchedule } from '../../engine/schedule/slot-job.ts'
import type { ErrorDetails } from '../../errors.ts'
import type {
  BlockerReferences,
  ChainOutput,
  ChainTypeName,
  EntryName,
  InputOf,
  JobTypeName,
  ReferencedEntry,
} from './job-types.ts'

/** Name and id of a chain. Every chain object is one. */
export interface ChainRef<N extends string = string> {
  readonly typeName: N
  readonly id: string
}

export interface JobFields<N extends string, Input, ChainName extends string, Blockers> {
  readonly id: string
  readonly typeName: N
  /** The first job of a chain is the chain: its id is the chain's. */
  readonly chainId: string
  readonly chainTypeName: ChainName
  /** Position in the chain, from 0. */
  readonly chainIndex: number
  /** The chain at the top of the tree that `startBlockers` spans; its own chain if that is no blocker. */
  readonly rootChainId: string
  /** The job before it in the chain, or the job that it was started to block. */
  readonly originId: string | null
  readonly input: Input
  /** In a list: what cannot be decoded, as bytes; `input` or `output` is null then. Absent: all of it was decoded. */
  readonly undecodable?: Readonly<Partial<Record<'input' | 'output', Undecodable>>>
  readonly priority: number
  /** Epoch ms, as every field that ends in `At`. */
  readonly createdAt: number
  readonly runAt: number
  /** Runs begun; only grows. */
  readonly attempt: number
  /** Runs that count: ended by an error, a timeout or a lost lease. */
  readonly failures: number
  /** When the last attempt began; in a handler: the one before it. Null: there was none. */
  readonly lastAttemptAt: number | null
  readonly lastAttemptError: ErrorDetails | null
  readonly traceContext?: TraceContext
  /** Chains that the job waits or waited for, in declared order. */
  readonly blockers: Blockers
}

/** What a job that is read has, and a running one in its handler has not. */
export interface ReportFields {
  /** The last 10 runs that have ended, oldest first. */
  readonly history: readonly AttemptView[]
  /** The last value that a run reported by progress(). Absent: none, or its bytes cannot be decoded. */
  readonly progress?: unknown
}

export interface ProcessingState {
  readonly state: 'processing'
  readonly leasedBy: string
  readonly leasedUntil: number
}

export interface Scheduled {
  /** The schedule that started the chain with this job, and the slot. Undefined: none did, or the job continues another. */
  readonly schedule: JobSchedule | undefined
}

export type JobStateFields =
  | { readonly state: 'scheduled' | 'blocked' | 'queued' | 'failing' }
  | ProcessingState
  /** `completedBy`: the worker's id; null without a worker. */
  | { readonly state: 'completed'; readonly completedAt: number; readonly completedBy: string | null }
  | { readonly state: 'failed'; readonly failedAt: number; readonly error: ErrorDetails }
  | { readonly state: 'cancelled'; readonly reason: string | null }

type BlockerRefs<T, B extends readonly unknown[]> = {
  readonly [I in keyof B]: ChainRef<ReferencedEntry<T, B[I]>>
}

/** The chains that block a job of this type, slot by slot. */
export type BlockerChains<T, N extends keyof T> = BlockerRefs<T, BlockerReferences<T, N>>

export type JobOf<T, N extends JobTypeName<T>> = N extends unknown
  ? JobFields<N, InputOf<T, N>, ChainTypeName<T, N>, BlockerChains<T, N>> & ReportFields & JobStateFields
  : never

export interface ChainFields<N extends string, Input> extends ChainRef<N> {
  readonly input: Input
  /** In a list: what cannot be decoded, as bytes; `input` or `output` is null then. Absent: all of it was decoded. */
  readonly undecodable?: Readonly<Partial<Record<'input' | 'output', Undecodable>>>
  readonly rootChainId: string
  readonly originId: string | null
  readonly priority: number
  readonly createdAt: number
  readonly traceContext?: TraceContext
}

interface CompletedChain<N extends string, Input, Output> extends ChainFields<N, Input> {
  readonly state: 'completed'
  readonly output: Output
  readonly completedAt: number
}

interface LiveChain<N extends string, Input> extends ChainFields<N, Input> {
  readonly state: 'scheduled' | 'blocked' | 'queued' | 'processing' | 'failing'
}

interface FailedChain<N extends string, Input> extends ChainFields<N, Input> {
  readonly state: 'failed'
  readonly error: ErrorDetails
}

interface CancelledChain<N extends string, Input> extends ChainFields<N, Input> {
  readonly state: 'cancelled'
  readonly reason: string | null
}

/** A chain, by the type it starts with. Its state is that of its last job. */
export type JobChainOf<T, N extends EntryName<T>> = N extends unknown
  ?
      | LiveChain<N, InputOf<T, N>>
      | CompletedJobChain<T, N>
      | FailedChain<N, InputOf<T, N>>
      | CancelledChain<N, InputOf<T, N>>
  : never

export type CompletedJobChain<T, N extends EntryName<T>> = N extends unknown
  ? CompletedChain<N, InputOf<T, N>, ChainOutput<T, N>>
  : never

/** A chain that the job waited for, as its handler sees it. getJobChain reads the rest. */
export interface CompletedBlocker<N extends string, Output> extends ChainRef<N> {
  readonly state: 'completed'
  readonly output: Output
}

type CompletedBlockerOf<T, N extends EntryName<T>> = N extends unknown ? CompletedBlocker<N, ChainOutput<T, N>> : never

type CompletedBlockers<T, B extends readonly unknown[]> = {
  readonly [I in keyof B]: CompletedBlockerOf<T, ReferencedEntry<T, B[I]>>
}

/** A job as its handler sees it: its blockers are completed chains. */
export type RunningJob<T, N extends JobTypeName<T> = JobTypeName<T>> = N extends unknown
  ? JobFields<N, InputOf<T, N>, ChainTypeName<T, N>, CompletedBlockers<T, BlockerReferences<T, N>>> &
      ProcessingState &
      Scheduled
  : never

/** A running job of any type. Every RunningJob is one. */
export type AnyRunningJob = JobFields<string, unknown, string, readonly ChainRef[]> & ProcessingState & Scheduled

export interface PageOf<Item> {
  readonly items: Item[]
  /** Null: this was the last page. */
  readonly nextCursor: string | null
}
