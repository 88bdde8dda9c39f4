// The cursor of a list by place: the segment that the page ended in, and the last member that it read there.

import { invalidArgument } from '../../../../errors.ts'
import type { Place, Segment } from './window.ts'

export interface PlaceCursor {
  readonly type: string
  readonly order: number
  /** Absent: the segment was read to its end. */
  readonly place: Place | undefined
}

export function encodePlaceCursor({ type, order }: Pick<Segment, 'type' | 'order'>, place: Place | undefined): string {
  const position = place ? [place.score, place.member.toString('base64')] : []
  return Buffer.from(JSON.stringify([type, order, ...position])).toString('base64url')
}

/** A score as Redis prints it. */
const scorePattern = /^-?(?:inf|\d{1,32}(?:\.\d{1,32})?(?:e[+-]?\d{1,3})?)$/

/** @throws TypeError INVALID_ARGUMENT */
export function decodePlaceCursor(cursor: string): PlaceCursor {
  const value = parsed(cursor)
  if (Array.isArray(value) && typeof value[0] === 'string' && Number.isSafeInteger(value[1])) {
    const [type, order, score, member] = value as [string, number, unknown, unknown]
    if (value.length === 2) return { type, order, place: undefined }
    if (typeof score === 'string' && scorePattern.test(score) && typeof member === 'string' && value.length === 4) {
      return { type, order, place: { score, member: Buffer.from(member, 'base64') } }
    }
  }
  throw invalidArgument('cursor', 'the nextCursor of an earlier page', cursor)
}

function parsed(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    // No cursor: the caller refuses it.
    return undefined
  }
}
