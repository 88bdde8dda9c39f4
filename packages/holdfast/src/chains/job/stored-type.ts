// Where names and stored types meet. Invariant: in this face `type` is what the storage holds (`chain.greet`) and `typeName` is
// what users give and see (`greet`); only the functions here turn one into the other.

import type { JobRef } from '../../storage/storage.ts'
import { storedType } from '../../storage/stored-type.ts'
import type { ChainRef } from '../types/records.ts'

const face = 'chain'
const prefix = storedType(face, '')

/** One string per name, so that comparing stored types compares pointers: names are few, and this is asked for every job. */
const types = new Map<string, string>()
const mostTypes = 10_000

export function typeOf(typeName: string): string {
  let type = types.get(typeName)
  if (type === undefined) {
    // Names are data of the caller: their number is bounded here.
    if (types.size === mostTypes) types.clear()
    types.set(typeName, (type = storedType(face, typeName)))
  }
  return type
}

/** @param type one that this face stored */
export const typeNameOf = (type: string): string => type.slice(prefix.length)

/** Whether this face stored the type: a storage may hold the jobs of others. */
export const isOwnType = (type: string): boolean => type.startsWith(prefix)

export const jobRefOf = ({ typeName, id }: ChainRef): JobRef => ({ type: typeOf(typeName), id })
export const chainRefOf = ({ type, id }: JobRef): ChainRef => ({ typeName: typeNameOf(type), id })
