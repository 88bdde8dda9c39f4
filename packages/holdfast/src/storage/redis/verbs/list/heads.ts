// Of many segments, those whose last job (of an ascending list: first) was created last (first): by a few short calls, whatever the number
// and size of the segments (lua/scan.ts#heads).

import type { Packed } from '../../codec/pack.ts'
import { encodeType, packed } from '../../codec/requests.ts'
import type { ScriptRunner } from '../script-runner.ts'
import type { Segment } from './window.ts'

/** Segments looked at by one call: some ms of the server. */
const segmentsAtOnce = 2_000

/** Types that have the same segments, but for their names. */
interface Group {
  /** Those of each type. */
  readonly types: (readonly Segment[])[]
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

/** @param segments by score */
export async function bestHeads(
  scripts: ScriptRunner,
  segments: readonly Segment[],
  options: HeadOptions,
): Promise<BestHeads> {
  const answers = await Promise.all(callsFor(segments).map((groups) => ask(scripts, groups, options)))
  const sign = options.backwards ? -1 : 1
  // A segment has two heads if some of its jobs are listed together.
  const best = new Set(
    answers
      .flatMap(({ heads }) => heads)
      .toSorted((a, b) => sign * (a.createdAt - b.createdAt))
      .map(({ segment }) => segment),
  )
  return { best: [...best].slice(0, options.most), filled: answers.reduce((sum, { filled }) => sum + filled, 0) }
}

/** The groups of each call. */
function callsFor(segments: readonly Segment[]): Group[][] {
  const calls: Map<string, Group>[] = []
  let size = Infinity
  for (const own of Map.groupBy(segments, ({ type }) => type).values()) {
    if (size + own.length > segmentsAtOnce) {
      calls.push(new Map())
      size = 0
    }
    const groups = calls.at(-1)!
    const key = own.map(({ set, min, max }) => `${String(set)} ${String(min)} ${String(max)}`).join('\n')
    const group = groups.get(key)
    if (group) group.types.push(own)
    else groups.set(key, { types: [own] })
    size += own.length
  }
  return calls.map((groups) => [...groups.values()])
}

async function ask(scripts: ScriptRunner, groups: readonly Group[], { backwards, most }: HeadOptions) {
  const asked = groups.map(({ types }): Packed => [
    types[0]!.map(({ set, min, max, idAt, isTimed }): Packed => [set, min, max, idAt ?? 0, isTimed ?? false]),
    types.map(([first]) => encodeType(first!.type)),
  ])
  const [, filled, numbers, instants] = await scripts.ask('heads', [packed([backwards, most, asked])])
  const all = groups.flatMap(({ types }) => types.flat())
  const heads = (numbers as number[]).map((number, index) => ({
    segment: all[number - 1]!,
    createdAt: (instants as number[])[index]!,
  }))
  return { heads, filled: filled as number }
}
