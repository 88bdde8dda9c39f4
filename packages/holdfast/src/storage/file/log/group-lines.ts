// Groups and flows as lines of JSON. Fields with their default value are left out. JSON has no Infinity: it is written as null.

import { emptyFlow, type Flow } from '../../rules/flow.ts'
import type { Bucket, RateUse } from '../../rules/job/rate.ts'
import type { FlowPut, GroupPut } from '../replica/changes.ts'
import { emptyPart, type GroupPart } from '../replica/group-part.ts'
import type { PausedJson } from './lines.ts'

type NumberJson = number | null

interface RateJson {
  readonly perMs: NumberJson
  readonly buckets: readonly Bucket[]
}

/** The state of a group, without the numbers of its members. */
export interface GroupJson {
  readonly type: string
  readonly key: string
  readonly ordered?: true
  readonly turnAt?: NumberJson
  readonly turn?: number
  readonly isFull?: true
  readonly paused?: PausedJson
  readonly heldBy?: readonly string[]
  readonly slowedUntil?: NumberJson
  readonly rateFreeAt?: NumberJson
  readonly rate?: RateJson
}

export interface FlowJson {
  readonly type: string
  readonly turnAt?: NumberJson
  readonly turn?: number
  readonly isFull?: true
  readonly slowedUntil?: NumberJson
  readonly nextWeight?: number
  readonly rate?: RateJson
}

export function groupToJson(type: string, key: string, group: GroupPart): GroupJson {
  return {
    type,
    key,
    ordered: group.ordered || undefined,
    turnAt: group.turnAt,
    turn: group.turn || undefined,
    isFull: group.isFull || undefined,
    paused: group.paused,
    heldBy: group.heldBy,
    slowedUntil: group.slowedUntil || undefined,
    rateFreeAt: group.rateFreeAt || undefined,
    rate: group.rate,
  }
}

export function groupFromJson({ type, key, ...json }: GroupJson): GroupPut {
  const state: GroupPart = {
    ordered: json.ordered ?? emptyPart.ordered,
    turnAt: numberFrom(json.turnAt, undefined),
    turn: json.turn ?? emptyPart.turn,
    isFull: json.isFull ?? emptyPart.isFull,
    paused: json.paused && { since: json.paused.since, by: json.paused.by },
    heldBy: json.heldBy,
    slowedUntil: numberFrom(json.slowedUntil, emptyPart.slowedUntil),
    rateFreeAt: numberFrom(json.rateFreeAt, emptyPart.rateFreeAt),
    rate: json.rate && rateFrom(json.rate),
  }
  return { type, key, state }
}

export function flowToJson(type: string, flow: Flow): FlowJson {
  return {
    type,
    turnAt: flow.turnAt || undefined,
    turn: flow.turn || undefined,
    isFull: flow.isFull || undefined,
    slowedUntil: flow.slowedUntil || undefined,
    nextWeight: flow.nextWeight === emptyFlow.nextWeight ? undefined : flow.nextWeight,
    rate: flow.rate,
  }
}

export function flowFromJson({ type, ...json }: FlowJson): FlowPut {
  const flow: Flow = {
    turnAt: numberFrom(json.turnAt, emptyFlow.turnAt),
    turn: json.turn ?? emptyFlow.turn,
    isFull: json.isFull ?? emptyFlow.isFull,
    slowedUntil: numberFrom(json.slowedUntil, emptyFlow.slowedUntil),
    nextWeight: json.nextWeight ?? emptyFlow.nextWeight,
    rate: json.rate && rateFrom(json.rate),
  }
  return { type, flow }
}

const rateFrom = ({ perMs, buckets }: RateJson): RateUse => ({ perMs: perMs ?? Infinity, buckets })

function numberFrom<Default extends number | undefined>(
  json: NumberJson | undefined,
  absent: Default,
): number | Default {
  return json === undefined ? absent : (json ?? Infinity)
}
