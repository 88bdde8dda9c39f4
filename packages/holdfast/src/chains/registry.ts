// The registry of job types: the compiler takes the types of jobs from it, and client and worker call its checks before they write.
// A registry declared by types alone checks nothing at run time; one declared by schemas or own checks does.

import { invalidArgument, JobTypeValidationError } from '../errors.ts'
import type { CheckedDefinitions } from './types/definition-checks.ts'
import { checkSchemaDefinitions, schemaChecks } from './schema-checks.ts'
import type { InferDefinitions, SchemaDefinitions, SchemaProblems } from './types/schema-definitions.ts'

declare const definitions: unique symbol

/** Checks at run time. Each throws or rejects to refuse; the two that parse return the value, or a promise of it. */
export interface JobTypeChecks {
  /** Refuses a type that may not start a chain. */
  validateEntry(typeName: string): void | Promise<void>
  /** Returns the input as it is stored and as handlers see it. */
  parseInput(typeName: string, input: unknown): unknown
  /** Returns the output as it is stored. */
  parseOutput(typeName: string, output: unknown): unknown
  /** Refuses a continuation that the type may not have. `input` is the value that was given, before it is parsed. */
  validateContinueWith(typeName: string, next: { typeName: string; input: unknown }): void | Promise<void>
  /** Refuses wrong blockers. `input` is the value that was given, for chains that start with the job; absent for others. */
  validateBlockers(typeName: string, blockers: readonly CheckedBlocker[]): void | Promise<void>
}

export interface CheckedBlocker {
  readonly typeName: string
  readonly input?: unknown
}

/** The declared job types. Made by defineJobTypes() or createJobTypeRegistry(); give client and worker the same one. */
export interface JobTypeRegistry<T> extends Readonly<JobTypeChecks> {
  /** Names of the declared types. Absent: not known at run time. */
  readonly typeNames?: readonly string[]
  /** Never set: it carries the types. */
  readonly [definitions]?: T
}

/** The definitions of a registry: `DefinitionsOf<typeof jobTypes>`. */
export type DefinitionsOf<R> = R extends JobTypeRegistry<infer T> ? T : never

/**
 * Declares job types to the compiler. Nothing is checked at run time.
 *
 *     defineJobTypes<{ greet: { entry: true; input: { name: string }; output: string } }>()
 */
export function defineJobTypes<T extends CheckedDefinitions<T>>(): JobTypeRegistry<T>
/**
 * Declares job types by schemas (Zod, Valibot, ArkType: any Standard Schema). Inputs and outputs are parsed before they
 * are stored; entry types, continuations and blockers are checked at run time too.
 * @throws TypeError INVALID_ARGUMENT
 */
export function defineJobTypes<const S extends SchemaDefinitions>(
  schemas: S & SchemaProblems<S>,
): JobTypeRegistry<InferDefinitions<S>>
export function defineJobTypes(schemas?: SchemaDefinitions): JobTypeRegistry<unknown> {
  if (schemas === undefined) return unchecked
  checkSchemaDefinitions(schemas)
  return { ...guarded(schemaChecks(schemas)), typeNames: Object.keys(schemas) }
}

/**
 * Declares job types with checks of your own. What they throw becomes the `cause` of a JobTypeValidationError.
 * @throws TypeError INVALID_ARGUMENT
 */
export function createJobTypeRegistry<T extends CheckedDefinitions<T>>(checks: JobTypeChecks): JobTypeRegistry<T> {
  for (const name of checkNames) {
    if (typeof checks?.[name] !== 'function') throw invalidArgument(`checks.${name}`, 'a function', checks?.[name])
  }
  return guarded(checks)
}

const checkNames = [
  'validateEntry',
  'parseInput',
  'parseOutput',
  'validateContinueWith',
  'validateBlockers',
] as const satisfies (keyof JobTypeChecks)[]

const unchecked: JobTypeRegistry<unknown> = {
  validateEntry() {},
  parseInput: (_, input) => input,
  parseOutput: (_, output) => output,
  validateContinueWith() {},
  validateBlockers() {},
}

/** Turns whatever a check throws into a JobTypeValidationError. */
function guarded(checks: JobTypeChecks): JobTypeChecks {
  return {
    validateEntry: (typeName) =>
      ask('NOT_ENTRY_POINT', typeName, 'it may not start a chain', () => checks.validateEntry(typeName)),
    parseInput: (typeName, input) =>
      ask('INVALID_INPUT', typeName, 'its input was refused', () => checks.parseInput(typeName, input)),
    parseOutput: (typeName, output) =>
      ask('INVALID_OUTPUT', typeName, 'its output was refused', () => checks.parseOutput(typeName, output)),
    validateContinueWith: (typeName, next) =>
      ask('INVALID_CONTINUATION', typeName, `it may not continue with '${next.typeName}'`, () =>
        checks.validateContinueWith(typeName, next),
      ),
    validateBlockers: (typeName, blockers) =>
      ask('INVALID_BLOCKERS', typeName, 'its blockers were refused', () => checks.validateBlockers(typeName, blockers)),
  }
}

function ask<R>(code: JobTypeValidationError['code'], typeName: string, sentence: string, check: () => R): R {
  const refuse = (thrown: unknown): never => {
    if (thrown instanceof JobTypeValidationError) throw thrown
    const why = thrown instanceof Error ? `: ${thrown.message}` : ''
    throw new JobTypeValidationError(code, typeName, sentence + why, { cause: thrown })
  }
  try {
    const answer = check()
    return answer instanceof Promise ? (answer.catch(refuse) as R) : answer
  } catch (thrown) {
    return refuse(thrown)
  }
}
