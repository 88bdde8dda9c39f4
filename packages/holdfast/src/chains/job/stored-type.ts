// Where names and stored types meet. Invariant: in this face `type` is what the storage holds (`chain.greet`) and `typeName` is
// what users give and see (`greet`); only the functions here turn one into the other.

import type { JobRef } from '../../storage/storage.ts'
import { parseType, storedType } from '../../storage/stored-type.ts'
import type { ChainRef } from '../types/records.ts'

const face = 'chain'

export const typeOf = (typeName: string): string => storedType(face, typeName)

/** @param type one that this face stored */
export const typeNameOf = (type: string): string => parseType(type).name

/** Whether this face stored the type: a storage may hold the jobs of others. */
export const isOwnType = (type: string): boolean => parseType(type).face === face

export const jobRefOf = ({ typeName, id }: ChainRef): JobRef => ({ type: typeOf(typeName), id })
export const chainRefOf = ({ type, id }: JobRef): ChainRef => ({ typeName: typeNameOf(type), id })
