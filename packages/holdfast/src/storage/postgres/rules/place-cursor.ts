// The cursor of a list by place: the entry after which the next page begins. It comes from outside, so every part is checked.

import { invalidArgument } from '../../../errors.ts'
import { type KeyType, type PlaceName, placeNames, places } from '../sql/places.ts'

export interface PlaceCursor {
  readonly place: PlaceName
  readonly tid: number
  readonly sub: number
  /** As text. */
  readonly keys: readonly string[]
}

export const encodePlaceCursor = ({ place, tid, sub, keys }: PlaceCursor): string =>
  Buffer.from(JSON.stringify([place, tid, sub, ...keys])).toString('base64url')

/** @throws TypeError INVALID_ARGUMENT */
export function decodePlaceCursor(cursor: string): PlaceCursor {
  const [place, tid, sub, ...keys] = partsOf(cursor)
  if (isPlaceName(place) && isInt32(tid) && isInt32(sub) && areKeys(place, keys)) return { place, tid, sub, keys }
  throw invalidArgument('cursor', 'the nextCursor of an earlier page', cursor)
}

function partsOf(cursor: string): unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(parts) ? parts : []
  } catch {
    return []
  }
}

const isPlaceName = (name: unknown): name is PlaceName => placeNames.includes(name as PlaceName)

const isInt32 = (value: unknown): value is number => Number.isInteger(value) && Math.abs(value as number) < 2 ** 31

function areKeys(place: PlaceName, given: readonly unknown[]): given is string[] {
  const { keys } = places[place]
  return (
    given.length === keys.length && given.every((key, index) => typeof key === 'string' && isKey[keys[index]![1]](key))
  )
}

/** Whether the server can read a text as this type. */
const isKey: Readonly<Record<KeyType, (text: string) => boolean>> = {
  'double precision': (text) =>
    text === 'Infinity' || (/^-?\d{1,20}(\.\d{1,20})?(e\+\d{1,3})?$/.test(text) && Number.isFinite(Number(text))),
  bigint: (text) => /^\d{1,18}$/.test(text),
  text: (text) => text.isWellFormed() && !text.includes('\0'),
  bytea: (text) => /^([0-9a-f]{2}){1,2000}$/.test(text),
}
