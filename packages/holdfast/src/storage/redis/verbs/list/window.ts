// Reads members of sorted sets in their order, from a place on (lua/scan.ts#window).

import { stateCodes } from '../../../rules/job/codes.ts'
import type { JobRecord, JobRef, JobState, ListQuery } from '../../../storage.ts'
import { type List, text } from '../../codec/fields.ts'
import type { Packed } from '../../codec/pack.ts'
import { completedByHolder, completedInBatch, leasedByClaim, queuedInLot } from '../../codec/record.ts'
import { encodeType, packed } from '../../codec/requests.ts'
import type { ScriptRunner } from '../script-runner.ts'

/** A part of one sorted set of a type. */
export interface Segment {
  readonly type: string
  /** Orders the segments of a type. The same part of the same set always has the same number. */
  readonly order: number
  /** Name of the set, without the type. */
  readonly set: string | Buffer
  /** The bounds are members, not scores. */
  readonly byMember: boolean
  /** As Redis takes them; `now` stands for the server's time. */
  readonly min: string | Buffer
  readonly max: string | Buffer
  /** Length of what stands before the id in a member. Undefined: the member names the instant of creation too. */
  readonly idAt?: number
  /** Members after which one call takes it as read to its end. @default none */
  readonly most?: number
  /** No score is before the creation of its job. */
  readonly isTimed?: boolean
  readonly jobOf: (member: Buffer) => ListedJob
}

export interface ListedJob {
  readonly id: string
  /** If the member names it: that of the job which it lists. */
  readonly createdAt?: number
}

/** A place in a set: after this member, or after its end. */
export interface Place {
  readonly score: string
  readonly member: Buffer
}

export interface Entry extends Place {
  readonly segment: Segment
  readonly ref: JobRef
  readonly createdAt: number | undefined
}

/** Reads records, those that do not match the query as undefined. */
export type ReadRecords = (refs: readonly JobRef[]) => Promise<(JobRecord | undefined)[]>
export interface Found {
  readonly found: readonly JobRecord[]
  readonly nextCursor?: string
  readonly truncated?: true
}

export interface Window {
  readonly entries: readonly Entry[]
  /** Number of segments that were read to their end. */
  readonly finished: number
  /** What was read last, if the next segment was read in part. It may not be among the entries. */
  readonly last: Place | undefined
}

interface WindowOptions {
  readonly most: number
  readonly backwards?: boolean
  /** The place in the first segment from which to go on. */
  readonly after?: Place | undefined
  /** Passes over jobs in other states. Only for segments of the search index. */
  readonly states?: readonly JobState[] | undefined
  /** Reads the instants of creation, and passes over jobs that are not wanted; the instant of one that is gone is -1. @default none */
  readonly created?: Wanted | undefined
}

/** The jobs that a list by creation wants. It passes over others, if a member does not name the instant. */
export interface Wanted {
  /** Not those that were created before, or after. The list narrows them once its page is full. */
  from: number
  to: number
  /** Which of them. */
  readonly query: Pick<ListQuery, 'of' | 'rootOnly' | 'chain' | 'states'>
}

export async function readWindow(
  scripts: ScriptRunner,
  segments: readonly Segment[],
  { most, backwards = false, after, states, created }: WindowOptions,
): Promise<Window> {
  const asked = segments.map((segment, index) =>
    packSegment(fromInstant(segment, created?.from), index === 0 ? after : undefined),
  )
  const wanted = states && lastBytes(states)
  const [, finished, found, score, last] = await scripts.ask('window', [
    packed([most, backwards, asked, wanted ?? false, ...(created ? packWanted(created) : [false])]),
  ])
  const list = found as List
  const entries: Entry[] = []
  for (let at = 0; at < list.length; at += 4) {
    const segment = segments[(list[at] as number) - 1]!
    const member = list[at + 2] as Buffer
    const { id, createdAt = list[at + 3] === false ? undefined : (list[at + 3] as number) } = segment.jobOf(member)
    entries.push({ segment, score: text(list[at + 1]), member, ref: { type: segment.type, id }, createdAt })
  }
  return {
    entries,
    finished: finished as number,
    last: last === false ? undefined : { score: text(score), member: last as Buffer },
  }
}

const lastBytes = (states: readonly JobState[]): Buffer => Buffer.from(states.flatMap(lastBytesOf))

/** The last byte of the record of a job in this state. A scheduled job reads as queued once it is due. */
function lastBytesOf(state: JobState): number[] {
  if (state === 'queued' || state === 'scheduled') return [stateCodes.queued, stateCodes.scheduled, queuedInLot]
  if (state === 'processing') return [stateCodes.processing, leasedByClaim]
  return state === 'completed' ? [stateCodes.completed, completedByHolder, completedInBatch] : [stateCodes[state]]
}

/** In the order that lua/scan.ts describes, behind `true`. */
function packWanted({ from, to, query: { of, rootOnly = false, chain, states } }: Wanted): Packed[] {
  const isFirst = of === 'chains'
  if (!isFirst && !rootOnly && !chain) return [true, from, to, false]
  // The sets tell the states of jobs. The state of a chain is that of its last job.
  const endings = isFirst && states ? lastBytes(states) : false
  return [true, from, to, [isFirst, rootOnly, chain ? packChain(chain) : false, endings]]
}

const packChain = ({ type, id }: JobRef): Packed => [type, id, encodeType(type)]

/** All entries of segments with their instants of creation, so many at a time. */
export async function* entriesOf(
  scripts: ScriptRunner,
  segments: readonly Segment[],
  most: number,
  wanted: Wanted,
  backwards = false,
): AsyncGenerator<readonly Entry[]> {
  let after: Place | undefined
  for (let left = segments; left.length > 0;) {
    const { entries, finished, last } = await readWindow(scripts, left, { most, backwards, after, created: wanted })
    yield entries
    left = left.slice(finished)
    after = last
    // The rest of this segment was created before its scores.
    if (backwards && last && left[0]!.isTimed && Number(last.score) < wanted.from) {
      left = left.slice(1)
      after = undefined
    }
  }
}

/** Number of members in each segment. */
export async function sizesOf(scripts: ScriptRunner, segments: readonly Segment[]): Promise<readonly number[]> {
  const [, sizes] = await scripts.ask('sizes', [packed(segments.map((segment) => packSegment(segment)))])
  return sizes as number[]
}

/** Without the jobs whose scores are before an instant: they were created before it, too. */
const fromInstant = (segment: Segment, from = 0): Segment =>
  from > 0 && segment.isTimed && segment.min === '-inf' ? { ...segment, min: String(from) } : segment

/** In the order that lua/scan.ts describes. */
function packSegment({ type, set, byMember, min, max, idAt, most }: Segment, after?: Place): Packed {
  const name = Buffer.concat([Buffer.from(`${encodeType(type)}:`), Buffer.from(set)])
  return [name, byMember, min, max, after?.score ?? false, after?.member ?? false, idAt ?? false, most ?? false]
}
