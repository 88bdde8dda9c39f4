// The cursor of a key-value list: the last key of the page, and the newest entry that existed when the list began.

import { invalidArgument } from '../../errors.ts'

export const encodeKvCursor = (newest: number, after: string): string => JSON.stringify([newest, after])

/** @throws TypeError INVALID_ARGUMENT */
export function decodeKvCursor(cursor: string): [newest: number, after: string] {
  try {
    const value: unknown = JSON.parse(cursor)
    if (Array.isArray(value) && typeof value[0] === 'number' && typeof value[1] === 'string') {
      return [value[0], value[1]]
    }
  } catch {
    // No cursor: refused below.
  }
  throw invalidArgument('cursor', 'the nextCursor of an earlier page', cursor)
}
