// Job types at compile time: how they are declared, which types a reference means, what a chain can reach and end in.
//
// Cost: each question about all types is one mapped type, asked by key and answered once by the compiler. The only
// recursion is Reachable, one step per continuation, begun at entry types alone; so a registry costs what its size is.

/** Other job types: by name (a union is allowed), or all whose input fits a shape. */
export type Reference = { readonly typeName: string } | { readonly input: unknown }

export interface JobTypeDefinition {
  /** May start a chain. */
  readonly entry?: true
  /** Anything the serde carries; `null` yes, `void` and `undefined` no. */
  readonly input: unknown
  /** Absent: this type never ends a chain. */
  readonly output?: unknown
  /** Absent: this type always ends its chain. */
  readonly continueWith?: Reference
  /** Chains that must complete first: a tuple, a rest, or both. Entry types only. */
  readonly blockers?: readonly Reference[]
  /** What callers hand in, where a schema makes something else of it. Set by `defineJobTypes` with schemas. */
  readonly given?: { readonly input: unknown; readonly output?: unknown }
}

export type Definitions = Readonly<Record<string, JobTypeDefinition>>

export type JobTypeName<T> = keyof T & string

/** The types that may start a chain. */
export type EntryName<T> = { [N in keyof T]: T[N] extends { readonly entry: true } ? N : never }[keyof T] & string

/** What a handler sees. */
export type InputOf<T, N extends keyof T> = T[N] extends { readonly input: infer I } ? I : never

/** What a caller hands in. */
export type GivenInput<T, N extends keyof T> = T[N] extends { readonly given: { readonly input: infer I } }
  ? I
  : InputOf<T, N>

type Outputs<T> = { [N in keyof T]: T[N] extends { readonly output: infer O } ? O : never }

/** What the chain's output is if it ends in this type, or in one of these types. */
export type OutputOf<T, N extends keyof T> = Outputs<T>[N]

type GivenOutputs<T> = {
  [N in keyof T]: T[N] extends { readonly given: { readonly output: infer O } } ? O : OutputOf<T, N>
}

/** What a handler hands in. */
export type GivenOutput<T, N extends keyof T> = GivenOutputs<T>[N]

// ── references ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** The types that a reference means. */
type Referenced<T, R> = R extends { readonly typeName: infer N }
  ? N extends JobTypeName<T>
    ? N
    : never
  : R extends { readonly input: infer Shape }
    ? NamesByShape<T, Shape>
    : never

export type NamesByShape<T, Shape> = {
  [N in keyof T]: GivenInput<T, N> extends Shape ? N : never
}[keyof T] &
  string

/** The entry types that a reference means. */
export type ReferencedEntry<T, R> = Extract<Referenced<T, R>, EntryName<T>>

type Continuations<T> = {
  [N in keyof T]: T[N] extends { readonly continueWith: infer R } ? Referenced<T, R> : never
}

/** The types that may follow this one in its chain. */
export type ContinuationName<T, N extends keyof T> = Continuations<T>[N]

/** The references of its blockers, slot by slot; of a type without, the empty tuple. */
export type BlockerReferences<T, N extends keyof T> = T[N] extends {
  readonly blockers: infer B extends readonly unknown[]
}
  ? B
  : readonly []

// ── chains ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Every type that a chain in one of these types may come to, itself included. Loops end: no type is gone through twice. */
export type Reachable<T, Front extends keyof T, Seen extends keyof T = never> = [Front] extends [never]
  ? Seen
  : Reachable<T, Exclude<ContinuationName<T, Front>, Seen | Front>, Seen | Front>

/** What a chain that starts with this type may end in: the union of all outputs that it can reach. */
export type ChainOutput<T, N extends keyof T> = OutputOf<T, Reachable<T, N>>

type Reaches<T, N> = { [E in EntryName<T>]: N extends Reachable<T, E> ? E : never }

/** The entry types whose chains may come to this type. */
export type ChainTypeName<T, N> = Reaches<T, N>[EntryName<T>]

/** True for a union of two or more, else false. */
export type IsUnion<N, All = N> = (N extends unknown ? ([All] extends [N] ? never : true) : never) extends never
  ? false
  : true
