// What SQLite's errors mean to those above.

/** The primary codes of SQLite's errors. */
const codes = { busy: 5, locked: 6, full: 13 } as const

const primaryCode = (error: unknown): number | undefined => {
  const { errcode } = (error ?? {}) as { errcode?: unknown }
  return typeof errcode === 'number' ? errcode & 0xff : undefined
}

/** Somebody else writes: the same call may go through in a moment. */
export function isBusy(error: unknown): boolean {
  const code = primaryCode(error)
  return code === codes.busy || code === codes.locked
}

/** The disk is full, or the database as large as it may be. */
export const isFull = (error: unknown): boolean => primaryCode(error) === codes.full

/** It was rolled back: certainly nothing was written. */
export function notApplied(error: unknown): unknown {
  if (error === null || typeof error !== 'object') return error
  return Object.assign(error, { maybeApplied: false }, isBusy(error) ? { transient: true } : undefined)
}
