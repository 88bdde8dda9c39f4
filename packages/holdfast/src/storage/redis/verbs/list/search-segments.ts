// The parts of the search index that a `where` reads: those of one of its fields, the one with the fewest entries in a type. The
// records then tell whether the other fields match, too. lua/move/search.ts describes the index.

import type { SearchRange, SearchValue, Where } from '../../../storage.ts'
import { unitBytes } from '../../codec/search.ts'
import type { ScriptRunner } from '../script-runner.ts'
import { typeNamesOf } from './scan.ts'
import { type ListedJob, type Segment, sizesOf } from './window.ts'

/** Segments of one field have so many numbers. Those of the first field begin with it: below are the segments of states. */
export const fieldOrders = 1_000_000

/** @param started the type and the order of a segment that an earlier page began to read: of this type, its field is read */
export async function searchSegments(
  scripts: ScriptRunner,
  names: readonly string[] | undefined,
  where: Where,
  started?: { readonly type: string; readonly order: number },
): Promise<Segment[]> {
  const fields = Object.entries(where).map(([name, wanted]) => rangesOf(name, wanted))
  if (fields.length === 0 || fields.some((ranges) => ranges.length === 0)) return []
  const types = await typeNamesOf(scripts, names)
  const ofTypes = types.map((type) =>
    fields.map((ranges, field) =>
      ranges.map((range, index): Segment => ({ ...range, type, order: (field + 1) * fieldOrders + index })),
    ),
  )
  const sizes = fields.length === 1 ? [] : await sizesOf(scripts, ofTypes.flat(2))
  let at = 0
  return ofTypes.flatMap((ofFields, index) => {
    const sums = ofFields.map((segments) => segments.reduce((sum) => sum + (sizes[at++] ?? 0), 0))
    const isStarted = started !== undefined && started.type === types[index]
    const field = isStarted ? Math.floor(started.order / fieldOrders) - 1 : sums.indexOf(Math.min(...sums))
    return ofFields[field] ?? []
  })
}

type Range = Omit<Segment, 'type' | 'order'>

function rangesOf(name: string, wanted: Where[string]): Range[] {
  if (typeof wanted !== 'object') return [equal(name, wanted)]
  if (Array.isArray(wanted)) return [...new Set(wanted as readonly SearchValue[])].map((value) => equal(name, value))
  return between(name, wanted as SearchRange)
}

function equal(name: string, value: SearchValue): Range {
  if (typeof value === 'string') return texts(name, inclusive(textStart(value)), exclusive(textEnd(value)))
  const score = String(Number(value))
  return numbers(typeof value === 'boolean' ? 'b' : 'n', name, score, score)
}

/** No value is within bounds of two kinds. Of two bounds on one side one is enough: the records tell about the other. */
function between(name: string, { gt, gte, lt, lte }: SearchRange): Range[] {
  const bounds = [gt, gte, lt, lte].filter((bound) => bound !== undefined)
  if (new Set(bounds.map((bound) => typeof bound)).size !== 1) return []
  if (typeof bounds[0] === 'number') {
    const min = gt === undefined ? String(gte ?? '-inf') : `(${gt}`
    const max = lt === undefined ? String(lte ?? '+inf') : `(${lt}`
    return [numbers('n', name, min, max)]
  }
  const from = gt === undefined ? (gte === undefined ? '-' : textStart(gte as string)) : textEnd(gt as string)
  const to = lt === undefined ? (lte === undefined ? '+' : textEnd(lte as string)) : textStart(lt as string)
  return [texts(name, from === '-' ? from : inclusive(from), to === '+' ? to : exclusive(to))]
}

/** What all entries of a text begin with. */
const textStart = (text: string): Buffer => Buffer.concat([escaped(text), Buffer.of(0, 0)])

/** Above all entries of a text, and below those of every greater one. */
const textEnd = (text: string): Buffer => Buffer.concat([escaped(text), Buffer.of(0, 1)])

const escaped = (text: string): Buffer =>
  Buffer.from([...unitBytes(text)].flatMap((byte) => (byte === 0 ? [0, 255] : [byte])))

const inclusive = (member: string | Buffer): Buffer => Buffer.concat([Buffer.from('['), Buffer.from(member)])
const exclusive = (member: string | Buffer): Buffer => Buffer.concat([Buffer.from('('), Buffer.from(member)])

function numbers(kind: 'n' | 'b', name: string, min: string, max: string): Range {
  return { set: setOf(kind, name), byMember: false, min, max, jobOf: (member) => jobAt(member, 0) }
}

function texts(name: string, min: string | Buffer, max: string | Buffer): Range {
  return { set: setOf('t', name), byMember: true, min, max, jobOf: (member) => jobAt(member, textLength(member) + 2) }
}

const setOf = (kind: 'n' | 'b' | 't', name: string): Buffer =>
  Buffer.concat([Buffer.from(`find:${kind}:`), unitBytes(name)])

/** A byte 0 of a text is followed by 255, so the first 0 0 ends it. */
function textLength(member: Buffer): number {
  let at = member.indexOf(0)
  while (member[at + 1] === 255) at = member.indexOf(0, at + 2)
  return at
}

const jobAt = (member: Buffer, at: number): ListedJob => ({
  createdAt: member.readUIntBE(at, 6),
  id: member.toString('utf8', at + 6),
})
