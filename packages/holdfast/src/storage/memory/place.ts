// Moves jobs between the lists and heaps of the memory driver.

import type * as Moves from '../rules/move.ts'
import type { Data, MemoryJob, TypeData } from './data.ts'
import type { Member } from './group.ts'
import type { Heap } from './heap.ts'
import type { SortedList } from './sorted-list.ts'

export function putIn(data: Data, job: MemoryJob, place: Moves.Place, now: number): void {
  const { type } = job
  leave(job)
  if (place === 'nowhere') return
  if (place === 'leases') return enter(job, type.leases)
  if (place === 'ended') return enter(job, data.ended)
  if (place === 'kept') return enter(job, type.kept)
  const isDue = job.runAt <= now
  if (isDue && job.state === 'scheduled') becomeQueued(job)
  if (place === 'ready') return enter(job, isDue ? type.readyList(job.priority) : type.later)
  enter(job, isDue ? type.asideDue : type.asideLater)
  const { group, member, membership } = job
  if (membership === 'unordered') enterHeap(member!, isDue ? group!.members : group!.later)
}

/** Moves jobs that have become due since the last call. */
export function promote(data: Data, type: TypeData, now: number): void {
  const { later, asideLater } = type
  for (let job = later.peek(); job && job.runAt <= now; job = later.peek()) putIn(data, job, 'ready', now)
  for (let job = asideLater.peek(); job && job.runAt <= now; job = asideLater.peek()) putIn(data, job, 'aside', now)
}

function becomeQueued(job: MemoryJob): void {
  const { counts } = job.type
  counts.scheduled--
  counts.queued++
  job.state = 'queued'
}

export function enter(job: MemoryJob, container: Heap<MemoryJob> | SortedList): void {
  job.container = container
  container.push(job)
}

function leave(job: MemoryJob): void {
  job.container?.remove(job)
  job.container = undefined
  // An unordered group lists the jobs that wait; an ordered one all of its members.
  if (job.membership === 'unordered') leaveHeap(job.member!)
}

export function enterHeap(member: Member, heap: Heap<Member>): void {
  member.heap = heap
  heap.push(member)
}

export function leaveHeap(member: Member): void {
  member.heap?.remove(member)
  member.heap = undefined
}
