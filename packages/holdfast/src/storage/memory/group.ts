// A group in the memory driver: its state, and heaps of its members.

import { emptyGroup, type GroupState } from '../rules/flow.ts'
import { dueBefore, type MemoryJob, type TypeData } from './data.ts'
import { Heap, type HeapSlot } from './heap.ts'

/** A job in a heap of its group. */
export interface Member extends HeapSlot {
  readonly job: MemoryJob
  heap: Heap<Member> | undefined
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

export interface Group extends Writable<GroupState>, HeapSlot {
  readonly key: string
  readonly type: TypeData
  /** Of an ordered group: all unfinished jobs, by acceptance. Of an unordered one: those that wait and are due, the best first. */
  readonly members: Heap<Member>
  /** Of an unordered group: the jobs that wait and are not yet due. */
  readonly later: Heap<Member>
}

export function newGroup(type: TypeData, key: string): Group {
  return { ...emptyGroup, key, type, members: new Heap(isMemberBefore), later: new Heap(isDueBefore), heapIndex: -1 }
}

/** All members are of one kind. */
function isMemberBefore({ job: a }: Member, { job: b }: Member): boolean {
  if (a.membership !== 'unordered') return a.accepted < b.accepted
  return a.priority === b.priority ? dueBefore(a, b) : a.priority > b.priority
}

const isDueBefore = (a: Member, b: Member): boolean => dueBefore(a.job, b.job)
