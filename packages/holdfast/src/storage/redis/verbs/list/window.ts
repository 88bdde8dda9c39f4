// Reads members of sorted sets in their order, from a place on (lua/scan.ts#window).

import { stateCodes } from '../../../rules/job/codes.ts'
import type { JobRecord, JobRef, JobState } from '../../../storage.ts'
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
  /** Reads the instants of creation; -1 of a job that is gone. @default false */
  readonly withCreated?: boolean
  /** Passes over jobs that were created before. @default none */
  readonly since?: number
}

export async function readWindow(
  scripts: ScriptRunner,
  segments: readonly Segment[],
  { most, backwards = false, after, states, withCreated = false, since = -1 }: WindowOptions,
): Promise<Window> {
  const asked = segments.map((segment, index) => packSegment(segment, index === 0 ? after : undefined))
  const wanted = states && Buffer.from(states.flatMap(lastBytesOf))
  const [, finished, found, score, last] = await scripts.ask('window', [
    packed([most, backwards, asked, wanted ?? false, withCreated, since]),
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

/** The last byte of the record of a job in this state. A scheduled job reads as queued once it is due. */
function lastBytesOf(state: JobState): number[] {
  if (state === 'queued' || state === 'scheduled') return [stateCodes.queued, stateCodes.scheduled, queuedInLot]
  if (state === 'processing') return [stateCodes.processing, leasedByClaim]
  return state === 'completed' ? [stateCodes.completed, completedByHolder, completedInBatch] : [stateCodes[state]]
}

/** The part of a list by creation, newest first, that need not be read: jobs created before `bound`. */
export interface PassedOver {
  bound: number
  /** Entries before the bound may be missing. */
  isUsed: boolean
}

/** All entries of segments with their instants of creation, so many at a time. @param passed only backwards */
export async function* entriesOf(
  scripts: ScriptRunner,
  segments: readonly Segment[],
  most: number,
  backwards = false,
  passed?: PassedOver,
): AsyncGenerator<readonly Entry[]> {
  let after: Place | undefined
  for (let left = segments; left.length > 0;) {
    const since = passed && passed.bound > 0 ? passed.bound : undefined
    if (passed && since !== undefined) passed.isUsed = true
    const options = { most, backwards, after, withCreated: true, ...(since !== undefined && { since }) }
    const { entries, finished, last } = await readWindow(scripts, left, options)
    yield entries
    left = left.slice(finished)
    after = last
    // The rest of this segment was created before its scores.
    if (passed && last && left[0]!.isTimed && Number(last.score) < passed.bound) {
      passed.isUsed = true
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

/** In the order that lua/scan.ts describes. */
function packSegment({ type, set, byMember, min, max, idAt, most }: Segment, after?: Place): Packed {
  const name = Buffer.concat([Buffer.from(`${encodeType(type)}:`), Buffer.from(set)])
  return [name, byMember, min, max, after?.score ?? false, after?.member ?? false, idAt ?? false, most ?? false]
}
