// Job types at compile time: how they are declared, which types a reference means, what a chain can reach and end in.
//
// Cost: each property of all types is one mapped type, which the compiler evaluates once and reads by key. The only recursion is
// Reachable, one step per continuation, begun at entry types alone. So the cost of a registry is linear in its size.

/** Refers to other job types: by name (a union is allowed), or to all whose input fits a shape. */
type Reference = { readonly typeName: string } | { readonly input: unknown }

export interface JobTypeDefinition {
  /** May start a chain. */
  readonly entry?: true
  /** Any value that the codec stores, `null` included; not `void` or `undefined`. */
  readonly input: unknown
  /** Absent: this type never ends a chain. */
  readonly output?: unknown
  /** Absent: this type always ends its chain. */
  readonly continueWith?: Reference
  /** Chains that must complete first: a tuple, a rest, or both. Entry types only. */
  readonly blockers?: readonly Reference[]
  /** The values that callers give, where a schema turns them into others. Set by `defineJobTypes` with schemas. */
  readonly given?: { readonly input: unknown; readonly output?: unknown }
}

export type JobTypeName<T> = keyof T & string

/** The types that may start a chain. */
export type EntryName<T> = { [N in keyof T]: T[N] extends { readonly entry: true } ? N : never }[keyof T] & string

/** The input as a handler sees it. */
export type InputOf<T, N extends keyof T> = T[N] extends { readonly input: infer I } ? I : never

/** The input as a caller gives it. */
export type GivenInput<T, N extends keyof T> = T[N] extends { readonly given: { readonly input: infer I } }
  ? I
  : InputOf<T, N>

type Outputs<T> = { [N in keyof T]: T[N] extends { readonly output: infer O } ? O : never }

/** The output of a chain that ends in this type, or in one of these types. */
export type OutputOf<T, N extends keyof T> = Outputs<T>[N]

type GivenOutputs<T> = {
  [N in keyof T]: T[N] extends { readonly given: { readonly output: infer O } } ? O : OutputOf<T, N>
}

/** The output as a handler gives it. */
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

/** The references of a type's blockers, slot by slot; the empty tuple for a type without blockers. */
export type BlockerReferences<T, N extends keyof T> = T[N] extends {
  readonly blockers: infer B extends readonly unknown[]
}
  ? B
  : readonly []

// ── chains ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Every type that a chain in one of these types can reach, these included. Loops end: no type is visited twice. */
export type Reachable<T, Front extends keyof T, Seen extends keyof T = never> = [Front] extends [never]
  ? Seen
  : Reachable<T, Exclude<ContinuationName<T, Front>, Seen | Front>, Seen | Front>

/** The output of a chain that starts with this type: the union of all outputs that it can reach. */
export type ChainOutput<T, N extends keyof T> = OutputOf<T, Reachable<T, N>>

type Reaches<T, N> = { [E in EntryName<T>]: N extends Reachable<T, E> ? E : never }

/** The entry types whose chains can reach this type. */
export type ChainTypeName<T, N> = Reaches<T, N>[EntryName<T>]

/** True for a union of two or more, else false. */
export type IsUnion<N, All = N> = (N extends unknown ? ([All] extends [N] ? never : true) : never) extends never
  ? false
  : true
