// Problems of a registry's definitions, as the compiler reports them: in the place of a problem it expects a sentence that names the
// job type. A definition without one is compared with itself, which costs nothing.

import type { EntryName, JobTypeDefinition, JobTypeName, NamesByShape, ReferencedEntry } from './job-types.ts'

/** A constraint of a type on itself: `T extends CheckedDefinitions<T>`. */
export type CheckedDefinitions<T> = { readonly [N in keyof T]: CheckedDefinition<T, N> }

type CheckedDefinition<T, N extends keyof T> = [Problem<T, N & string>] extends [never]
  ? T[N] extends JobTypeDefinition
    ? T[N]
    : JobTypeDefinition
  : Problem<T, N & string>

/** The property that has the first problem, with a sentence about it. Never: there is none. */
export type Problem<T, N extends JobTypeName<T>> = T[N] extends { readonly input: infer I }
  ? MayBeUndefined<I> extends true
    ? { readonly input: `job type '${N}': input must not be void or undefined; write null` }
    : OutputProblem<T, N>
  : { readonly input: `job type '${N}' has no input; write null if it needs none` }

type OutputProblem<T, N extends JobTypeName<T>> = T[N] extends { readonly output: infer O }
  ? MayBeUndefined<O> extends true
    ? { readonly output: `job type '${N}': output must not be void or undefined; write null` }
    : ContinuationProblem<T, N>
  : T[N] extends { readonly continueWith: unknown }
    ? ContinuationProblem<T, N>
    : { readonly output: `job type '${N}' has neither output nor continueWith: no chain could end or go on there` }

type ContinuationProblem<T, N extends JobTypeName<T>> = T[N] extends { readonly continueWith: infer R }
  ? [ReferenceProblem<T, R, `job type '${N}': continueWith`>] extends [never]
    ? BlockerProblem<T, N>
    : { readonly continueWith: ReferenceProblem<T, R, `job type '${N}': continueWith`> }
  : BlockerProblem<T, N>

type BlockerProblem<T, N extends JobTypeName<T>> = T[N] extends { readonly blockers: infer B }
  ? B extends readonly unknown[]
    ? [BlockerReferenceProblem<T, B[number], `job type '${N}': blockers`>] extends [never]
      ? KeyProblem<T, N>
      : { readonly blockers: BlockerReferenceProblem<T, B[number], `job type '${N}': blockers`> }
    : { readonly blockers: `job type '${N}': blockers must be an array or a tuple of references` }
  : KeyProblem<T, N>

type KeyProblem<T, N extends JobTypeName<T>> = [Exclude<keyof T[N], keyof JobTypeDefinition>] extends [never]
  ? never
  : {
      readonly [
        K in Exclude<keyof T[N], keyof JobTypeDefinition>
      ]: `job type '${N}' has an unknown property '${K & string}'`
    }

type ReferenceProblem<T, R, Where extends string> = R extends { readonly typeName: infer M }
  ? M extends JobTypeName<T>
    ? never
    : `${Where} names '${M & string}', which is no job type here`
  : R extends { readonly input: infer Shape }
    ? [NamesByShape<T, Shape>] extends [never]
      ? `${Where} has the shape of an input that no job type has`
      : never
    : `${Where} must be { typeName } or { input }`

type BlockerReferenceProblem<T, R, Where extends string> = R extends { readonly typeName: infer M }
  ? M extends EntryName<T>
    ? never
    : M extends JobTypeName<T>
      ? `${Where} names '${M}', which starts no chain: it is not declared with entry: true`
      : ReferenceProblem<T, { readonly typeName: M }, Where>
  : R extends { readonly input: unknown }
    ? [ReferencedEntry<T, R>] extends [never]
      ? `${Where} has the shape of an input that no entry type has`
      : never
    : ReferenceProblem<T, R, Where>

/** `unknown` passes: any value is allowed then, and the codec refuses at run time what it cannot store. */
type MayBeUndefined<V> = unknown extends V ? false : undefined extends V ? true : false
