// The errors for chains that do not exist: one that was asked for, and one that was named as a blocker.

import { HoldfastError } from '../../errors.ts'
import { refusalOf } from '../../engine/limits/add-limits.ts'
import type { AddVerdict, JobRef, NewJob } from '../../storage/storage.ts'
import type { ChainRef } from '../types/records.ts'
import { chainRefOf } from './stored-type.ts'

export function chainNotFound({ typeName, id }: ChainRef): HoldfastError {
  const message = `there is no chain '${id}' of '${typeName}'`
  return new HoldfastError('CHAIN_NOT_FOUND', message, { typeName, chainId: id })
}

/** @param added the verdicts of a settle that was refused for the jobs it adds @param jobs those */
export function blockerNotFound(
  { added }: { readonly added: readonly AddVerdict[] },
  jobs: readonly NewJob[],
  about: Readonly<Record<string, unknown>>,
): HoldfastError {
  for (const [index, verdict] of added.entries()) {
    const refusal = jobs[index] && refusalOf(verdict, jobs[index])
    if (refusal) return refusal
  }
  const missing = added.find((verdict) => verdict.verdict === 'blocker_not_found')
  if (missing?.verdict === 'blocker_not_found') return missingBlocker(missing.blocker, about)
  const message = 'the continuation was refused by the storage. Nothing was written.'
  return new HoldfastError('STORAGE_ERROR', message, { ...about, maybeApplied: false })
}

export function missingBlocker(ref: JobRef, about: Readonly<Record<string, unknown>>): HoldfastError {
  const blocker = chainRefOf(ref)
  const message = `there is no chain '${blocker.id}' of '${blocker.typeName}' to wait for. Nothing was written.`
  return new HoldfastError('BLOCKER_NOT_FOUND', message, { ...about, blocker })
}
