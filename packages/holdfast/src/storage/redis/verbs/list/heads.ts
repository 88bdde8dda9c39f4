// Of many segments, those whose last job (of an ascending list: first) was created last (first): by a few short calls, whatever the number
// and size of the segments (lua/scan.ts#heads).

import type { Packed } from '../../codec/pack.ts'
import { encodeType, packed } from '../../codec/requests.ts'
import type { ScriptRunner } from '../script-runner.ts'
import type { Segment } from './window.ts'

/** Segments looked at by one call: some ms of the server. */
const segmentsAtOnce = 2_000

/** Types that have the same segments, but for their names. */
export interface SegmentGroup {
  readonly types: readonly string[]
  /** Those of the first type. */
  readonly segments: readonly Segment[]
}

interface HeadOptions {
  readonly backwards: boolean
  /** Segments that are wanted. */
  readonly most: number
}

interface BestHeads {
  /** At most as many as are wanted. */
  readonly best: readonly Segment[]
  /** Number of segments that have a job. */
  readonly filled: number
}

/** @param groups with segments by score */
export async function bestHeads(
  scripts: ScriptRunner,
  groups: readonly SegmentGroup[],
  options: HeadOptions,
): Promise<BestHeads> {
  const answers = await Promise.all(callsFor(groups).map((call) => ask(scripts, call, options)))
  const sign = options.backwards ? -1 : 1
  const best = answers
    .flatMap(({ heads }) => heads)
    .toSorted((a, b) => sign * (a.createdAt - b.createdAt))
    .slice(0, options.most)
  return {
    best: best.map(({ segment }) => segment),
    filled: answers.reduce((sum, { filled }) => sum + filled, 0),
  }
}

/** The groups of each call. */
function callsFor(groups: readonly SegmentGroup[]): SegmentGroup[][] {
  const calls: SegmentGroup[][] = []
  let left = 0
  for (const { types, segments } of groups) {
    for (let from = 0; from < types.length;) {
      if (left < segments.length) {
        calls.push([])
        left = Math.max(segmentsAtOnce, segments.length)
      }
      const some = types.slice(from, from + Math.floor(left / segments.length))
      calls.at(-1)!.push({ types: some, segments })
      left -= some.length * segments.length
      from += some.length
    }
  }
  return calls
}

async function ask(scripts: ScriptRunner, groups: readonly SegmentGroup[], { backwards, most }: HeadOptions) {
  const asked = groups.map(({ types, segments }): Packed => [
    segments.map(({ set, min, max, idAt, isTimed }): Packed => [set, min, max, idAt ?? 0, isTimed ?? false]),
    types.map(encodeType),
  ])
  const [, filled, numbers, instants] = await scripts.ask('heads', [packed([backwards, most, asked])])
  const heads = new Map<number, { readonly segment: Segment; readonly createdAt: number }>()
  for (const [index, number] of (numbers as number[]).entries()) {
    // The best first. A segment has two heads if some of its jobs are listed together.
    if (!heads.has(number)) {
      heads.set(number, { segment: segmentAt(groups, number - 1), createdAt: (instants as number[])[index]! })
    }
  }
  return { heads: [...heads.values()], filled: filled as number }
}

/** @param at counted through all types of all groups */
function segmentAt(groups: readonly SegmentGroup[], at: number): Segment {
  let left = at
  for (const { types, segments } of groups) {
    const size = types.length * segments.length
    if (left < size) {
      return { ...segments[left % segments.length]!, type: types[Math.floor(left / segments.length)]! }
    }
    left -= size
  }
  throw new RangeError(`there is no segment ${at}`)
}
