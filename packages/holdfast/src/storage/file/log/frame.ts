// The format of commits and snapshots: lines of JSON. The first line has the kind of the file, and the length and CRC-32 of the
// rest, so that an incomplete file is recognised.

// The default export: older versions of Node.js have no crc32, and node-version.ts must be evaluated there.
import zlib from 'node:zlib'
import type { Line } from './lines.ts'

/** Format 1 had neither the states of groups nor the flows of types. */
export const format = 2

export interface Head {
  readonly holdfast: 'commit' | 'snapshot'
  readonly format: number
  readonly number: number
  /** The last number that a job has. */
  readonly last: number
  readonly durability: 'full' | 'relaxed'
  /** Of a snapshot: the folder of the commits after it. */
  readonly log?: string
}

export interface Frame {
  readonly head: Head
  readonly lines: Iterable<Line>
  readonly size: number
}

export function encodeFrame(head: Head, lines: readonly string[]): Buffer {
  const body = Buffer.from(lines.length === 0 ? '' : lines.join('\n') + '\n')
  const first = JSON.stringify({ ...head, bytes: body.length, crc32: zlib.crc32(body) })
  return Buffer.concat([Buffer.from(first + '\n'), body])
}

/** Undefined if the file is torn. @throws Error if a newer version wrote it */
export function decodeFrame(bytes: Buffer): Frame | undefined {
  const end = bytes.indexOf(10)
  const head = end === -1 ? undefined : parseHead(bytes.toString('utf8', 0, end))
  if (!head) return undefined
  const body = bytes.subarray(end + 1)
  if (body.length !== head.bytes || zlib.crc32(body) !== head.crc32) return undefined
  if (head.format > format) {
    throw new Error(
      `File storage: the directory has format ${head.format}, and this version knows formats up to ${format}. Use a newer version.`,
    )
  }
  return { head, size: bytes.length, lines: parse(body) }
}

function* parse(body: Buffer): Generator<Line> {
  for (let start = 0; start < body.length;) {
    const end = body.indexOf(10, start)
    yield JSON.parse(body.toString('utf8', start, end)) as Line
    start = end + 1
  }
}

function parseHead(text: string): (Head & { bytes: number; crc32: number }) | undefined {
  try {
    const head: unknown = JSON.parse(text)
    return head !== null && typeof head === 'object' && 'holdfast' in head ? (head as never) : undefined
  } catch {
    return undefined // Torn.
  }
}
