// A storage for an owner that makes several calls one after the other, and may be stopped between two of them: once it is stopped, no
// further call is made. A stop is bounded in time, so what it no longer waits for must end by itself.

import { StorageError } from '../errors.ts'
import type { GuardedStorage } from './guard.ts'

type Method = (...args: unknown[]) => unknown

/** Calls reject once `isStopped` holds. */
export function callsUntil(storage: GuardedStorage, isStopped: () => boolean): GuardedStorage {
  const wrap = <T extends object>(target: T): T =>
    Object.fromEntries(
      Object.entries(target).map(([name, value]) => [
        name,
        typeof value === 'function'
          ? async (...args: unknown[]) => {
              if (isStopped()) throw stoppedError(storage.driver, name)
              return (value as Method)(...args)
            }
          : value,
      ]),
    ) as T
  const { unansweredMs, endRepeats } = storage
  return { ...wrap(storage), kv: wrap(storage.kv), unansweredMs, endRepeats }
}

/** Transient, so that a start that was stopped counts as stopped, not as failed. */
const stoppedError = (driver: string, verb: string): StorageError =>
  new StorageError(`${driver} storage: ${verb} was not called, because its caller was stopped. Nothing was written.`, {
    maybeApplied: false,
    transient: true,
  })
