// The lines that a handler logs, as bytes: JSON of the text and its fields. Encoding never throws: a line must not fail its job.
// Invariant: a line has at most 8 KiB, so that one line cannot push all others out of a job's log (64 KiB).

import { asError } from '../../error-details.ts'
import type { Bytes, Log } from '../../storage/storage.ts'
import { decodeValue, encodeValue } from './values.ts'

type Fields = Readonly<Record<string, unknown>>

/** One line that a run of a job logged. */
export interface JobLogLine {
  /** Number of the line in its job, from 1. It stays the same when older lines are deleted. */
  readonly number: number
  /** When it was logged, in epoch ms of its worker. */
  readonly at: number
  /** Number of the run, from 1, released ones included. */
  readonly attempt: number
  /** Text of the line. */
  readonly text: string
  /** Fields that log() was given. */
  readonly fields?: Fields
}

/** What logs() returns: the lines that are kept, oldest first. */
export interface JobLog {
  /** The lines, oldest first. */
  readonly lines: readonly JobLogLine[]
  /** Number of older lines that were deleted: a job keeps its last 1,000 lines, and at most 64 KiB. */
  readonly dropped: number
}

/** Options of logs(). */
export interface LogOptions {
  /** Only lines of this run. */
  readonly attempt?: number | undefined
  /** Only lines after the one with this number. */
  readonly after?: number | undefined
}

const maxLineBytes = 8_192
/** Characters that are kept of a text that is too long: at most 6 KiB as JSON, whatever they are. */
const cutLength = 1_024

/**
 * Encodes a line. Fields take every value that a payload takes. Fields that cannot be stored are replaced by `notStored`, which says
 * why. A line of more than 8 KiB loses its fields, and its text after 1,024 characters.
 */
export function encodeLine(text: string, fields?: Fields): Bytes {
  const whole = encodeOrExplain(text, fields)
  if (typeof whole !== 'string') return whole
  const cut = text.length > cutLength ? `${text.slice(0, cutLength)}…` : text
  return encodeValue(fields === undefined ? { text: cut } : { text: cut, fields: { notStored: whole } })
}

/** Returns a text that says why the line cannot be stored as it is. */
function encodeOrExplain(text: string, fields: Fields | undefined): Bytes | string {
  try {
    const line = encodeValue(fields === undefined ? { text } : { text, fields }, 'line')
    return line.byteLength <= maxLineBytes ? line : `the line has ${line.byteLength} bytes, above ${maxLineBytes}`
  } catch (error) {
    return asError(error).message.slice(0, 256)
  }
}

/** Decodes a line. Bytes that encodeLine() did not make become a text. */
export function decodeLine(bytes: Bytes): { readonly text: string; readonly fields?: Fields } {
  try {
    const { text, fields } = decodeValue(bytes) as { text?: unknown; fields?: unknown }
    if (typeof text === 'string') return isFields(fields) ? { text, fields } : { text }
  } catch {
    // Not JSON: the bytes are the text.
  }
  return { text: Buffer.from(bytes).toString() }
}

const isFields = (value: unknown): value is Fields => value !== null && typeof value === 'object'

/** The log of a job, as logs() returns it. */
export function jobLogOf({ lines, dropped }: Log, { attempt: wanted, after = 0 }: LogOptions = {}): JobLog {
  const shown = lines.flatMap(({ attempt, at, line }, index): JobLogLine[] => {
    const number = dropped + index + 1
    if (number <= after || (wanted !== undefined && wanted !== attempt)) return []
    // Lines of one millisecond are told apart by its parts.
    return [{ number, at: Math.floor(at), attempt, ...decodeLine(line) }]
  })
  return { lines: shown, dropped }
}
