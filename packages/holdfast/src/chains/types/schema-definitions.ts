// Job types declared by schemas: the shape of the declaration, and the definitions that follow from it.

import type { Problem } from './definition-checks.ts'
import type { SchemaInput, SchemaOutput, StandardSchema } from '../../engine/standard-schema.ts'

/** Refers to other job types: by name, or to all whose input the schema accepts. */
export type SchemaReference = { readonly typeName: string | readonly string[] } | { readonly input: StandardSchema }

/** `many`: any number of chains in this slot. At most one slot of a type may have it. */
export type SchemaBlocker = SchemaReference & { readonly many?: true }

export interface SchemaDefinition {
  /** May start a chain. */
  readonly entry?: true
  /** Callers give the schema's input. Its output is stored, and is what handlers see. */
  readonly input: StandardSchema
  /** Absent: this type never ends a chain. */
  readonly output?: StandardSchema
  /** Absent: this type always ends its chain. */
  readonly continueWith?: SchemaReference
  /** Chains that must complete first. Entry types only. */
  readonly blockers?: readonly SchemaBlocker[]
}

export type SchemaDefinitions = Readonly<Record<string, SchemaDefinition>>

/** The definitions that schemas declare. */
export type InferDefinitions<S> = { readonly [N in keyof S]: InferDefinition<S[N]> }

type InferDefinition<D> = {
  readonly [K in keyof D]: K extends 'input' | 'output'
    ? SchemaOutput<D[K]>
    : K extends 'continueWith'
      ? InferReference<D[K]>
      : K extends 'blockers'
        ? InferBlockers<D[K]>
        : D[K]
} & { readonly given: { readonly [K in keyof D as K extends 'input' | 'output' ? K : never]: SchemaInput<D[K]> } }

type InferReference<R> = R extends { readonly typeName: infer N }
  ? { readonly typeName: N extends readonly (infer M)[] ? M : N }
  : R extends { readonly input: infer S }
    ? { readonly input: SchemaInput<S> }
    : never

type InferBlockers<B> = B extends readonly [infer First, ...infer Rest]
  ? First extends { readonly many: true }
    ? readonly [...InferReference<First>[], ...InferBlockers<Rest>]
    : readonly [InferReference<First>, ...InferBlockers<Rest>]
  : readonly []

/** The problems of a declaration, each in its place. */
export type SchemaProblems<S, T = InferDefinitions<S>> = {
  readonly [N in keyof S]: N extends keyof T & string ? OrUnknown<Problem<T, N>> : unknown
}

type OrUnknown<P> = [P] extends [never] ? unknown : P
