// Schemas of tasks: any library that implements Standard Schema v1 fits.

import { HoldfastError, printable, usageError } from '../errors.ts'
import type { SchemaIssue, SchemaResult, StandardSchema as StandardSchemaV1 } from '../engine/standard-schema.ts'

export type { SchemaIssue, StandardSchemaV1 }
export type InferInput<S extends StandardSchemaV1> = NonNullable<S['~standard']['types']>['input']
export type InferOutput<S extends StandardSchemaV1> = NonNullable<S['~standard']['types']>['output']

/** @throws TypeError INVALID_SCHEMA. The schemas of some libraries are functions. */
export function checkSchema(value: unknown): asserts value is StandardSchemaV1 {
  const isHolder = (typeof value === 'object' && value !== null) || typeof value === 'function'
  const standard = isHolder ? (value as Partial<StandardSchemaV1>)['~standard'] : undefined
  if (standard?.version !== 1 || typeof standard.validate !== 'function') {
    throw usageError('INVALID_SCHEMA', `schema: expected a Standard Schema v1, got ${printable(value)}`)
  }
}

/** Returns the output of the schema. @param index in a batch, for the error @throws SCHEMA_REJECTED */
export async function validate(
  schema: StandardSchemaV1,
  data: unknown,
  index?: number,
): Promise<{ readonly value: unknown }> {
  let result: SchemaResult<unknown>
  try {
    result = await schema['~standard'].validate(data)
  } catch (cause) {
    throw new HoldfastError('SCHEMA_REJECTED', 'data: the schema threw. Its error is the cause.', {
      issues: [],
      index,
      cause,
    })
  }
  if (result?.issues) {
    const [first] = result.issues
    throw new HoldfastError('SCHEMA_REJECTED', `data: the schema refused it: ${first?.message ?? 'no reason given'}`, {
      issues: result.issues,
      index,
    })
  }
  return { value: result?.value }
}
