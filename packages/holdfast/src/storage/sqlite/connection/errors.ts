// What SQLite's errors mean to those above, and how to wait where another process writes.

import { accessSync, constants, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Clock } from '../../../clock.ts'
import { isHoldfastError, StorageError } from '../../../errors.ts'

/** The primary codes of SQLite's errors. */
const codes = { busy: 5, locked: 6, full: 13, cannotOpen: 14 } as const

const primaryCode = (error: unknown): number | undefined => {
  const { errcode } = (error ?? {}) as { errcode?: unknown }
  return typeof errcode === 'number' ? errcode & 0xff : undefined
}

/** Somebody else writes: the same call may go through in a moment. */
function isBusy(error: unknown): boolean {
  const code = primaryCode(error)
  return code === codes.busy || code === codes.locked
}

/** Of a read: who repeats it waits for nobody's commit. */
export function worthRepeating(error: unknown): unknown {
  return isBusy(error) ? Object.assign(error as object, { transient: true }) : error
}

/** The disk is full: what was begun can only be rolled back. */
export const isFull = (error: unknown): boolean => primaryCode(error) === codes.full

/** It was rolled back: certainly nothing was written. */
export function notApplied(error: unknown): unknown {
  if (error === null || typeof error !== 'object' || isHoldfastError(error)) return error
  return Object.assign(error, { maybeApplied: false })
}

/** Between two tries to get the lock that another process has, in ms. */
const [shortestWaitMs, longestWaitMs] = [1, 20]

/** Tries again while another process has the lock, without holding up this one. @param isLate there is no time left */
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

/** Of a database that could not be opened. SQLite does not say why: the file system does. */
export function openError(path: string, error: unknown): unknown {
  if (isHoldfastError(error)) return error
  const why = primaryCode(error) === codes.cannotOpen ? obstacle(path) : undefined
  const message = (why ?? (error as Error)).message
  return new StorageError(`cannot open the SQLite database ${path}: ${message}`, {
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
