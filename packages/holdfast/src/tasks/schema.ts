// Standard Schema v1, structurally: no library is imported, any that speaks it fits.

import { HoldfastError, printable, usageError } from '../errors.ts'

/** The part of Standard Schema v1 that is used. */
export interface StandardSchemaV1<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export type InferInput<S extends StandardSchemaV1> = NonNullable<S['~standard']['types']>['input']
export type InferOutput<S extends StandardSchemaV1> = NonNullable<S['~standard']['types']>['output']

/** @throws TypeError INVALID_SCHEMA. Some libraries' schemas are functions. */
export function checkSchema(value: unknown): asserts value is StandardSchemaV1 {
  const isHolder = (typeof value === 'object' && value !== null) || typeof value === 'function'
  const standard = isHolder ? (value as Partial<StandardSchemaV1>)['~standard'] : undefined
  if (standard?.version !== 1 || typeof standard.validate !== 'function') {
    throw usageError('INVALID_SCHEMA', `schema: expected a Standard Schema v1, got ${printable(value)}`)
  }
}

/** What the schema makes of it. @throws SCHEMA_REJECTED */
export async function validate(schema: StandardSchemaV1, data: unknown, index?: number): Promise<unknown> {
  let result: SchemaResult<unknown>
  try {
    result = await schema['~standard'].validate(data)
  } catch (cause) {
    throw new HoldfastError('SCHEMA_REJECTED', 'the schema threw', { issues: [], index, cause })
  }
  if (result?.issues) {
    const [first] = result.issues
    throw new HoldfastError('SCHEMA_REJECTED', `the schema refused the data: ${first?.message ?? 'no reason given'}`, {
      issues: result.issues,
      index,
    })
  }
  return result?.value
}
