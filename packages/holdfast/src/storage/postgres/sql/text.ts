// How values are written as text for Postgres. Its text type can hold neither NUL nor half a surrogate pair: text with one of them
// is escaped and prefixed with a mark; all other text is stored unchanged. A list is sent as one array literal.

import type { Bytes } from '../../storage.ts'
import type { Value } from '../connection/database.ts'

const mark = '\u0001'
const unsafe = /[%\0]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g
const escape = (char: string): string => '%' + char.charCodeAt(0).toString(16).padStart(4, '0')

export function encodeText(text: string): string {
  if (!text.includes('\0') && text.isWellFormed() && !text.startsWith(mark)) return text
  return mark + text.replace(unsafe, escape)
}

export function decodeText(text: string): string {
  if (!text.startsWith(mark)) return text
  return text.slice(1).replace(/%([0-9a-f]{4})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
}

export const encodeOptionalText = (text: string | undefined): string | null =>
  text === undefined ? null : encodeText(text)

export const decodeOptionalText = (cell: string | null): string | undefined =>
  cell === null ? undefined : decodeText(cell)

const special = /["\\]/g
const quoted = (item: string): string => `"${special.test(item) ? item.replace(special, '\\$&') : item}"`

/** An array literal. Bytes must be encoded by encodeBytes() before. */
export function arrayOf(items: readonly Value[]): string {
  let text = '{'
  for (const item of items) {
    if (text.length > 1) text += ','
    text += item === null ? 'NULL' : typeof item === 'number' ? item : quoted(item)
  }
  return text + '}'
}

/** From an array literal of numbers with at least one. */
export const numbersOf = (literal: string): number[] => literal.slice(1, -1).split(',').map(Number)

/** The input format of bytea. */
export const encodeBytes = (bytes: Bytes | undefined): string | null =>
  bytes === undefined ? null : `\\x${hexOf(bytes)}`

/**
 * Three parameters for bytesAt(): the positions of some bytes, their lengths, and all of them one behind the other, as hex. An array of
 * bytes is read character by character, several times: with 1,000 bytes for each job, that took the server a third of an add.
 */
export function joinedBytes(items: readonly (Bytes | undefined)[]): [starts: string, sizes: string, hex: string] {
  const given: Bytes[] = []
  const [starts, sizes]: [Value[], Value[]] = [[], []]
  let start = 1
  for (const bytes of items) {
    if (bytes !== undefined) given.push(bytes)
    starts.push(bytes === undefined ? null : start)
    sizes.push(bytes?.byteLength ?? null)
    start += bytes?.byteLength ?? 0
  }
  return [arrayOf(starts), arrayOf(sizes), given.length === 1 ? hexOf(given[0]!) : Buffer.concat(given).toString('hex')]
}

const hexOf = ({ buffer, byteOffset, byteLength }: Bytes): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('hex')

/** From a column that was selected as hex. */
export const decodeBytes = (hex: string | null): Bytes | undefined =>
  hex === null ? undefined : Buffer.from(hex, 'hex')

export const numberOf = (cell: string | null): number | undefined => (cell === null ? undefined : Number(cell))

/** Quotes a name as an SQL identifier. */
export const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`
