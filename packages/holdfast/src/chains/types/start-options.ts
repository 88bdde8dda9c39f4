// The options of a start and of a continuation: type, input, time, blockers. Where the compiler refuses something, the type it
// expects in that place is a sentence that says why.

import type { DeduplicationOptions } from '../../engine/job/deduplication.ts'
import type { GroupOptions } from '../../engine/job/job-options.ts'
import type { SearchFields } from '../../storage/storage.ts'
import type {
  BlockerReferences,
  ContinuationName,
  EntryName,
  GivenInput,
  InputOf,
  IsUnion,
  JobTypeName,
} from './job-types.ts'
import type { BlockerChains, ChainRef, JobChainOf } from './records.ts'
import type { TraceContext } from '../../engine/tracing.ts'

/** An option of client methods: a transaction of the user's, where the storage has transactions. */
export type TxOption<Tx> = [Tx] extends [never] ? { readonly tx?: never } : { readonly tx?: Tx | undefined }

/** What callbacks receive: the open transaction, where the storage has transactions. */
export type TxContext<Tx> = [Tx] extends [never] ? {} : { readonly tx: Tx }

/** Alias of `runAt` and `delayMs`: an instant (epoch ms; one in the past is now), or ms from the storage's now. */
export type Schedule =
  | { readonly at: number | Date; readonly afterMs?: never }
  | { readonly afterMs: number; readonly at?: never }

/** At most one chain of an entry type per key, by a `strategy`. */
export interface ChainDeduplicationStrategy {
  /** At most 512 bytes. */
  readonly key: string
  /** Alias of mode. `completed`: `simple`. `all`: `throttle`. */
  readonly strategy?: 'completed' | 'all' | undefined
  readonly mode?: never
  /** Only chains created less than so many ms ago count. Without it, all do. */
  readonly windowMs?: number | undefined
}

/**
 * At most one chain of an entry type per key. The mode decides what a second start with the key does. Mode `followUp` is not for
 * starts with blockers.
 */
export type ChainDeduplication = ChainDeduplicationStrategy | DeduplicationOptions

interface JobOptions<Input> {
  /** Input of the job, stored by the value codec. */
  readonly input: Input
  /** Not before so many ms from the storage's now. Not together with runAt. */
  readonly delayMs?: number | undefined
  /** Not before this instant: epoch ms or a Date. One in the past is now. */
  readonly runAt?: number | Date | undefined
  /** Alias of delayMs and runAt. */
  readonly schedule?: Schedule | undefined
  /** Integer -100…100, larger first. @default 0; for a continuation, that of the job before it */
  readonly priority?: number | undefined
  /** Longest run of an attempt, in ms. @default that of the worker */
  readonly timeoutMs?: number | undefined
  /** Time until the first attempt, in ms. A job that was not started by then ends as cancelled, and its chain with it. */
  readonly expiresInMs?: number | undefined
  /**
   * Key of the group of the job, within its type: groups take turns, and the limits of a type may bound each. Or an object: with
   * `ordered: true`, the jobs of the group run one at a time, in the order of acceptance, across retries.
   */
  readonly group?: string | GroupOptions | undefined
  /** What a start of the job takes of the rates of its type and group: an integer of at least 1. @default 1 */
  readonly weight?: number | undefined
  /** Fields by which lists find the job: at most 16 texts, numbers and booleans. */
  readonly search?: SearchFields | undefined
}

interface ChainOptions<T, N extends JobTypeName<T>> extends JobOptions<OneInput<T, N>> {
  /** Job type of the first job: one that is declared with `entry: true`. */
  readonly typeName: StartableName<T, N>
  /** A chosen id deduplicates. @default a UUIDv7 */
  readonly id?: string | undefined
  /** Key under which at most one chain of the type exists. */
  readonly deduplication?: ChainDeduplication | undefined
  /** W3C trace context of the start. @default that of the active span, if telemetry is installed */
  readonly traceContext?: TraceContext | undefined
}

/** One chain to start. */
export type StartItem<T, N extends JobTypeName<T>, Tx> = ChainOptions<T, N> & BlockerOptions<T, N, Tx>

/** What startJobChain takes. */
export type StartOptions<T, N extends JobTypeName<T>, Tx> = StartItem<T, N, Tx> & TxOption<Tx>

/**
 * `duplicate`: the chain had the id or key before, and nothing was changed. `replaced`: the chain had the key before, and its input
 * was replaced (deduplication modes `debounce` and `followUp`). `deduplicated`: the start added no chain.
 */
export type StartStatus =
  | { readonly status: 'added'; readonly deduplicated: false }
  | { readonly status: 'duplicate' | 'replaced'; readonly deduplicated: true }

/** What startJobChain gives: the chain that now has the id or key, with its state, and whether this start added it. */
export type StartedJobChain<T, N extends EntryName<T>> = JobChainOf<T, N> & StartStatus

type StartableName<T, N extends JobTypeName<T>> = [N] extends [EntryName<T>]
  ? N
  : IsUnion<N> extends true
    ? { [E in EntryName<T>]: E }[EntryName<T>] // Not by its own name, so that the compiler lists them.
    : `job type '${N}' starts no chain: it is not declared with entry: true`

/** A union of types is refused: it would accept the input of one type for the other. */
type OneInput<T, N extends JobTypeName<T>> =
  IsUnion<N> extends true ? 'narrow typeName to one job type first: each has an input of its own' : GivenInput<T, N>

// ── blockers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** For a type that declares blockers, one of the two ways to give them; for another, none. */
type BlockerOptions<T, N extends JobTypeName<T>, Tx> = [BlockerReferences<T, N>] extends [readonly []]
  ? NoBlockers<`job type '${N}' declares no blockers`>
  :
      | {
          /** Runs before the job is written. The chains that it starts are written in the same move as the job. */
          readonly startBlockers: StartBlockers<T, N, Tx>
          readonly blockers?: never
          readonly onBlockerFailure?: OnBlockerFailure | undefined
        }
      | {
          /** Chains that exist, or that the same startJobChains starts. */
          readonly blockers: BlockerChains<T, N>
          readonly startBlockers?: never
          readonly onBlockerFailure?: OnBlockerFailure | undefined
        }

interface NoBlockers<Sentence> {
  readonly startBlockers?: Sentence
  readonly blockers?: Sentence
  readonly onBlockerFailure?: Sentence
}

/** A failed or cancelled blocker fails the job, or it waits until the blocker is triggered and completes. @default 'fail' */
export type OnBlockerFailure = 'fail' | 'wait'

export type StartBlockers<T, N extends JobTypeName<T>, Tx> = (
  context: {
    /** The job to be blocked. It is not written yet. */
    readonly job: JobToBlock<N, InputOf<T, N>>
    readonly startJobChain: StartBlockerChain<T, Tx>
  } & TxContext<Tx>,
) => Promise<BlockerChains<T, N>>

interface JobToBlock<N extends string, Input> {
  readonly id: string
  readonly typeName: N
  readonly chainId: string
  readonly input: Input
}

/** Writes nothing and gives a reference: the chain is written with the job that it blocks. */
type StartBlockerChain<T, Tx> = <M extends JobTypeName<T>>(options: StartItem<T, M, Tx>) => Promise<ChainRef<M>>

// ── continuations ────────────────────────────────────────────────────────────────────────────────────────────────────

declare const continuation: unique symbol

/** What `continueWith` gives. Return it from the callback of `complete`. */
export interface Continuation<M extends string = string> {
  readonly [continuation]: M
}

export type ContinueOptions<T, N extends JobTypeName<T>, M extends JobTypeName<T>, Tx> = JobOptions<
  NextInput<T, N, M>
> & {
  readonly typeName: ContinuableName<T, N, M>
} & NextBlockers<T, N, M, Tx>

// With a name that is refused, the rest is not looked at: there is one error, about the name.

type IsNext<T, N extends JobTypeName<T>, M> = [M] extends [ContinuationName<T, N>] ? true : false

type NextInput<T, N extends JobTypeName<T>, M extends JobTypeName<T>> =
  IsNext<T, N, M> extends true ? OneInput<T, M> : unknown

type NextBlockers<T, N extends JobTypeName<T>, M extends JobTypeName<T>, Tx> =
  IsNext<T, N, M> extends true ? BlockerOptions<T, M, Tx> : NoBlockers<unknown>

type ContinuableName<T, N extends JobTypeName<T>, M extends JobTypeName<T>> = [M] extends [ContinuationName<T, N>]
  ? M
  : IsUnion<M> extends true
    ? { [C in ContinuationName<T, N>]: C }[ContinuationName<T, N>]
    : `job type '${N}' does not continue with '${M}'`

/** Does no I/O: the next job is written by the settle that completes this one. */
export type ContinueWith<T, N extends JobTypeName<T>, Tx> = [ContinuationName<T, N>] extends [never]
  ? (options: `job type '${N}' declares no continueWith: it ends its chain`) => Promise<never>
  : <M extends JobTypeName<T>>(
      options: ContinueOptions<T, N, M, Tx>,
    ) => Promise<Continuation<Extract<M, ContinuationName<T, N>>>>
