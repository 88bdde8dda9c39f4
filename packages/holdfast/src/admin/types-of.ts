// The stored types that a filter names. A face or a name alone needs a look at the types that exist.

import type { Operations } from '../engine/operate/operations.ts'
import type { TypeFilter } from './admin.ts'
import { typeOf } from './options.ts'

/** Undefined: every type. */
export async function typesOf(
  operations: Operations,
  { face, name, types }: TypeFilter,
): Promise<readonly string[] | undefined> {
  const isWanted = (type: { readonly face: string; readonly name: string }): boolean =>
    (face === undefined || type.face === face) && (name === undefined || type.name === name)
  if (types) return types.filter(isWanted).map((type) => typeOf('types', type))
  if (face === undefined && name === undefined) return undefined
  if (face !== undefined && name !== undefined) return [typeOf('filter', { face, name })]
  return (await operations.summaries(undefined)).filter(isWanted).map((type) => typeOf('filter', type))
}
