// What may be said when a chain starts or goes on: type, input, schedule, blockers. Where something is refused, the type
// expected in its place is a sentence that says why.

import type {
  BlockerReferences,
  ContinuationName,
  EntryName,
  GivenInput,
  InputOf,
  IsUnion,
  JobTypeName,
} from './job-types.ts'
import type { BlockerChains, ChainRef, JobChainOf, TraceContext } from './records.ts'

/** An option of client methods: the user's transaction, where the storage has such. */
export type TxOption<Tx> = [Tx] extends [never] ? { readonly tx?: never } : { readonly tx?: Tx }

/** What callbacks receive: the open transaction, where the storage has such. */
export type TxContext<Tx> = [Tx] extends [never] ? {} : { readonly tx: Tx }

/** When: an instant (epoch ms; the past is now), or so long from the storage's now. */
export type Schedule =
  | { readonly at: number | Date; readonly afterMs?: never }
  | { readonly afterMs: number; readonly at?: never }

/** At most one chain of an entry type per key. */
export interface ChainDeduplication {
  readonly key: string
  /** `completed`: while it is not completed. `all`: completed ones too, while their record lives. @default 'completed' */
  readonly strategy?: 'completed' | 'all'
  /** Only chains created less than so many ms ago count. @default none */
  readonly windowMs?: number
}

interface JobOptions<Input> {
  readonly input: Input
  /** @default now */
  readonly schedule?: Schedule
  /** Integer -100…100, larger first. @default 0; of a continuation, its predecessor's */
  readonly priority?: number
}

interface ChainOptions<T, N extends JobTypeName<T>> extends JobOptions<OneInput<T, N>> {
  readonly typeName: StartableName<T, N>
  /** A chosen one deduplicates. @default a UUIDv7 */
  readonly id?: string
  readonly deduplication?: ChainDeduplication
  /** @default the active one, if telemetry is installed */
  readonly traceContext?: TraceContext
}

/** One chain to start. */
export type StartItem<T, N extends JobTypeName<T>, Tx> = ChainOptions<T, N> & BlockerOptions<T, N, Tx>

/** What startJobChain takes. */
export type StartOptions<T, N extends JobTypeName<T>, Tx> = StartItem<T, N, Tx> & TxOption<Tx>

/** What startJobChain gives. `deduplicated`: it is a chain that stood already. */
export type StartedJobChain<T, N extends EntryName<T>> = JobChainOf<T, N> & { readonly deduplicated: boolean }

type StartableName<T, N extends JobTypeName<T>> = [N] extends [EntryName<T>]
  ? N
  : IsUnion<N> extends true
    ? { [E in EntryName<T>]: E }[EntryName<T>] // Not by its own name, so that the compiler lists them.
    : `job type '${N}' starts no chain: it is not declared with entry: true`

/** A union of types would take a union of inputs, of which one may belong to the other type. */
type OneInput<T, N extends JobTypeName<T>> =
  IsUnion<N> extends true ? 'narrow typeName to one job type first: each has an input of its own' : GivenInput<T, N>

// ── blockers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Of a type that declares blockers, one of the two ways to give them; of another, none. */
export type BlockerOptions<T, N extends JobTypeName<T>, Tx> = [BlockerReferences<T, N>] extends [readonly []]
  ? NoBlockers<`job type '${N}' declares no blockers`>
  :
      | {
          /** Runs before the job is written. The chains it starts are written with the job, both or neither. */
          readonly startBlockers: StartBlockers<T, N, Tx>
          readonly blockers?: never
          readonly onBlockerFailure?: OnBlockerFailure
        }
      | {
          /** Chains that exist already. */
          readonly blockers: BlockerChains<T, N>
          readonly startBlockers?: never
          readonly onBlockerFailure?: OnBlockerFailure
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
    /** The job to be blocked. Nothing of it is written yet. */
    readonly job: JobToBlock<N, InputOf<T, N>>
    readonly startJobChain: StartBlockerChain<T, Tx>
  } & TxContext<Tx>,
) => Promise<BlockerChains<T, N>>

export interface JobToBlock<N extends string, Input> {
  readonly id: string
  readonly typeName: N
  readonly chainId: string
  readonly input: Input
}

/** Writes nothing: it gives a reference, and the chain is written with the job that it blocks. */
export type StartBlockerChain<T, Tx> = <M extends JobTypeName<T>>(options: StartItem<T, M, Tx>) => Promise<ChainRef<M>>

// ── continuations ────────────────────────────────────────────────────────────────────────────────────────────────────

declare const continuation: unique symbol

/** What `continueWith` gives, to be returned from the callback of `complete`. */
export interface Continuation<M extends string = string> {
  readonly [continuation]: M
}

export type ContinueOptions<T, N extends JobTypeName<T>, M extends JobTypeName<T>, Tx> = JobOptions<OneInput<T, M>> & {
  readonly typeName: ContinuableName<T, N, M>
} & BlockerOptions<T, M, Tx>

type ContinuableName<T, N extends JobTypeName<T>, M extends JobTypeName<T>> = [M] extends [ContinuationName<T, N>]
  ? M
  : IsUnion<M> extends true
    ? { [C in ContinuationName<T, N>]: C }[ContinuationName<T, N>]
    : `job type '${N}' does not continue with '${M}'`

/** Does no I/O: the next job is written by the settle that completes this one. */
export type ContinueWith<T, N extends JobTypeName<T>, Tx> = [ContinuationName<T, N>] extends [never]
  ? (options: `job type '${N}' declares no continueWith: it ends its chain`) => Promise<never>
  : <M extends JobTypeName<T>>(options: ContinueOptions<T, N, M, Tx>) => Promise<Continuation<M>>
