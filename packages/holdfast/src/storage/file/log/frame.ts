// A file of lines: the first says what it is, how long the rest is and its CRC-32, so that half a file is known as one.

// The default export: older versions of Node.js have no crc32, and node-version.ts must be evaluated there.
import zlib from 'node:zlib'
import type { Line } from './lines.ts'

export const format = 1

export interface Head {
  readonly holdfast: 'commit' | 'snapshot'
  readonly format: number
  readonly number: number
  /** The number that was given out last, to a job. */
  readonly last: number
  readonly durability: 'full' | 'relaxed'
  /** Of a snapshot: where the commits after it are. */
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

/** Undefined: torn. Throws for what a newer version wrote. */
export function decodeFrame(bytes: Buffer): Frame | undefined {
  const end = bytes.indexOf(10)
  const head = end === -1 ? undefined : parseHead(bytes.toString('utf8', 0, end))
  if (!head) return undefined
  const body = bytes.subarray(end + 1)
  if (body.length !== head.bytes || zlib.crc32(body) !== head.crc32) return undefined
  if (head.format > format) {
    throw new Error(`written in format ${head.format} by a newer version; this one knows formats up to ${format}`)
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
    return undefined // Torn, and so is the rest.
  }
}
