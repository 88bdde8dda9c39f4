// What a call to the storage that failed ends in: a StorageError that says whether the call may have been applied.

import { isHoldfastError, StorageError } from '../errors.ts'

/** Whether a failed call may have been applied: as the driver says, else every write may. */
export function mayBeApplied(error: unknown, { writes }: { readonly writes: boolean }): boolean {
  const { maybeApplied } = (error ?? {}) as { maybeApplied?: unknown }
  return typeof maybeApplied === 'boolean' ? maybeApplied : writes
}

/** @param maybeApplied whether any of its tries may have been applied */
export function asStorageError(
  error: unknown,
  guarded: { readonly driver: string; readonly verb: string },
  maybeApplied: boolean,
): unknown {
  // The last try was not applied, but an earlier one may have been.
  const isOnlyLast = maybeApplied && (error as { maybeApplied?: unknown } | null)?.maybeApplied === false
  if (isHoldfastError(error)) return isOnlyLast ? asMaybeApplied(error as StorageError) : error
  const { code, message = 'unknown' } = (error ?? {}) as { code?: unknown; message?: unknown }
  if (code === 'INVALID_ARGUMENT') return error
  const reason = String(message).replace(/[.\s]+$/, '')
  const text = `${guarded.driver} storage: ${guarded.verb} failed: ${reason}. ${effect(maybeApplied)}`
  return new StorageError(text, { cause: error, maybeApplied })
}

/** With the reason of the last try: a start is retried after a timeout, whatever the tries before it ended in. */
function asMaybeApplied({ message, cause, transient, reason }: StorageError): StorageError {
  return new StorageError(message, {
    maybeApplied: true,
    ...(cause !== undefined && { cause }),
    ...(transient !== undefined && { transient }),
    ...(reason !== undefined && { reason }),
  })
}

/** The sentence of a message that says what a failed call did. */
export const effect = (maybeApplied: boolean): string =>
  maybeApplied ? 'It may have been applied: calling again with the same id is safe.' : 'Nothing was written.'
