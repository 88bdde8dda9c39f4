// The search fields of a job, and their declaration: which fields a kind of job has, and of which kind their values are.

import { invalidArgument } from '../../errors.ts'
import { checkSearchFields } from '../../storage/check.ts'
import type { SearchFields, SearchValue } from '../../storage/storage.ts'

/** The search fields of a kind of job: each with the type of its values. */
export type SearchFieldTypes = Readonly<Record<string, 'string' | 'number' | 'boolean'>>

/** Search fields as a caller gives them. A field that is undefined is left out. */
export type GivenFields = Readonly<Record<string, SearchValue | undefined>>

/**
 * Checks search fields against their declaration.
 * @param name for the message, such as 'search'
 * @returns undefined if no field is given
 * @throws TypeError INVALID_ARGUMENT for a field that is not declared, or a value of another kind
 */
export function checkedSearch(
  name: string,
  given: GivenFields,
  declared: SearchFieldTypes | undefined,
): SearchFields | undefined {
  if (given === null || typeof given !== 'object' || Array.isArray(given)) {
    throw invalidArgument(name, 'an object of fields', given)
  }
  const fields = definedFields(given)
  const entries = Object.entries(fields)
  if (declared) for (const [field, value] of entries) checkDeclared(name, field, value, declared)
  checkSearchFields(fields)
  return entries.length > 0 ? fields : undefined
}

/** The fields that have a value. */
export function definedFields(given: GivenFields): SearchFields {
  return Object.fromEntries(
    Object.entries(given).filter((entry): entry is [string, SearchValue] => entry[1] !== undefined),
  )
}

function checkDeclared(name: string, field: string, value: SearchValue, declared: SearchFieldTypes): void {
  if (!Object.hasOwn(declared, field)) {
    throw invalidArgument(name, `one of the searchFields ${Object.keys(declared).join(', ')}`, field)
  }
  const type = declared[field]!
  if (typeof value !== type) throw invalidArgument(`${name}.${field}`, `a ${type}`, value)
}

/** The check of the option `searchFields`. @throws TypeError INVALID_ARGUMENT */
export function isSearchFieldTypes(name: string, value: unknown): void {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw invalidArgument(name, 'an object of fields', value)
  }
  for (const [field, type] of Object.entries(value)) {
    if (type !== 'string' && type !== 'number' && type !== 'boolean') {
      throw invalidArgument(`${name}.${field}`, "'string', 'number' or 'boolean'", type)
    }
  }
  // The bounds of names and their number, by a sample of each.
  checkSearchFields(Object.fromEntries(Object.keys(value).map((field) => [field, true])))
}
