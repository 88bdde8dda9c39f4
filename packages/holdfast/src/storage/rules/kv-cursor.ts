// Where a list of keys goes on: behind the last key of its page, among those that were there when it began.

import { invalidArgument } from '../../errors.ts'

export const encodeKvCursor = (newest: number, after: string): string => JSON.stringify([newest, after])

/** @throws INVALID_ARGUMENT */
export function decodeKvCursor(cursor: string): [newest: number, after: string] {
  try {
    const value: unknown = JSON.parse(cursor)
    if (Array.isArray(value) && typeof value[0] === 'number' && typeof value[1] === 'string') {
      return [value[0], value[1]]
    }
  } catch {
    // Not one of ours: refused below.
  }
  throw invalidArgument('cursor', 'the nextCursor of an earlier page', cursor)
}
