// What SQLite's errors mean for a call, and how to wait for the lock of another process.

import { accessSync, constants, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Clock } from '../../../clock.ts'
import { isHoldfastError, StorageError } from '../../../errors.ts'

/** SQLite's primary result codes. */
const codes = { busy: 5, locked: 6, full: 13, cannotOpen: 14 } as const

const primaryCode = (error: unknown): number | undefined => {
  const { errcode } = (error ?? {}) as { errcode?: unknown }
  return typeof errcode === 'number' ? errcode & 0xff : undefined
}

/** Another connection has the lock: the same call may succeed in a moment. */
function isBusy(error: unknown): boolean {
  const code = primaryCode(error)
  return code === codes.busy || code === codes.locked
}

/** Marks a lock error of a read as transient, so that the engine repeats the read. */
export function asTransient(error: unknown): unknown {
  return isBusy(error) ? Object.assign(error as object, { transient: true }) : error
}

/** The disk is full: the transaction can only be rolled back. */
export const isFull = (error: unknown): boolean => primaryCode(error) === codes.full

/** Marks an error after a rollback: certainly nothing was written. */
export function notApplied(error: unknown): unknown {
  if (error === null || typeof error !== 'object' || isHoldfastError(error)) return error
  return Object.assign(error, { maybeApplied: false })
}

/** Pauses between two attempts to get a lock, in ms. */
const [shortestWaitMs, longestWaitMs] = [1, 20]

/** Repeats an attempt while another process has the lock, without blocking the event loop. @param isLate ends the wait */
export async function whenFree<T>(clock: Clock, attempt: () => T, isLate: (busy: unknown) => boolean): Promise<T> {
  for (let waitMs = shortestWaitMs; ; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || isLate(error)) throw error
    }
    const jitteredMs = waitMs * (0.5 + clock.random())
    await new Promise<void>((resolve) => void clock.after(jitteredMs, resolve))
  }
}

/**
 * The error of a failed open, always with a cause: the engine repeats a start only if the cause may pass. Of a file that
 * SQLite cannot open, the file system names the cause.
 */
export function openError(path: string, error: unknown): unknown {
  if (isHoldfastError(error)) return error
  const why = primaryCode(error) === codes.cannotOpen ? obstacle(path) : undefined
  const isMissing = (why as { code?: unknown } | undefined)?.code === 'ENOENT'
  const message = isMissing ? 'its directory does not exist. Create it first.' : (why ?? (error as Error)).message
  return new StorageError(`SQLite: cannot open the database '${path}': ${message}`, {
    cause: why ?? error,
    maybeApplied: false,
  })
}

function obstacle(path: string): Error | undefined {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return new Error('it is a directory')
    accessSync(dirname(path), constants.W_OK)
    return undefined
  } catch (error) {
    return error as Error
  }
}
