// How jobs wait: in line, for their time, or behind the head of their group. A group takes part in the line with its head
// alone, so that a busy or paused one costs the claims of others nothing.

import { isWaiting } from '../../job/states.ts'
import type { JobState, When } from '../storage.ts'
import type { Group, Job, Member, TypeData } from './data.ts'
import { Heap } from './heap.ts'
import type { Line } from './line.ts'
import type { Move } from './move.ts'

export function dueAt(move: Move, { runAt, delayMs }: When): number {
  if (delayMs !== undefined) return move.now + delayMs
  return runAt === undefined ? move.now : Math.max(runAt, move.now)
}

export function setState(job: Job, state: JobState): void {
  job.type.counts[job.state]--
  job.type.counts[state]++
  job.state = state
}

/** Lets a job wait for its runAt. `failing` keeps that name; otherwise it is queued or scheduled. */
export function wait(move: Move, job: Job, failing = false): void {
  job.due = job.runAt <= move.now
  if (job.due) job.type.due++
  setState(job, failing ? 'failing' : job.due ? 'queued' : 'scheduled')
  if (job.group) {
    stand(job, job.due ? job.type.asideDue : job.type.asideLater)
    refreshGroup(move, job.group)
  } else {
    lineUp(move, job)
  }
}

/** Takes a waiting job out of wherever it stands. The caller gives it its next state. */
export function stopWaiting(job: Job): void {
  leaveHeap(job)
  if (job.due) job.type.due--
  job.due = false
  if (job.group?.placed === job) job.group.placed = undefined
}

/** Puts a job behind all that waits now. */
export function goBehind(move: Move, job: Job, runAt: number): void {
  job.runAt = runAt
  job.order = ++move.data.accepted
}

export function stand(job: Job, heap: Heap<Job> | Line): void {
  job.heap = heap
  heap.push(job)
}

export function leaveHeap(job: Job): void {
  job.heap?.remove(job)
  job.heap = undefined
}

/** Moves what has become due since the last look. */
export function promote(type: TypeData, now: number): void {
  for (let job = type.later.peek(); job && job.runAt <= now; job = type.later.peek()) {
    becomeDue(job)
    stand(job, type.readyOf(job.priority))
  }
  for (let job = type.asideLater.peek(); job && job.runAt <= now; job = type.asideLater.peek()) {
    becomeDue(job)
    stand(job, type.asideDue)
  }
}

function becomeDue(job: Job): void {
  leaveHeap(job)
  job.due = true
  job.type.due++
  if (job.state === 'scheduled') setState(job, 'queued')
}

function lineUp(move: Move, job: Job): void {
  stand(job, job.due ? job.type.readyOf(job.priority) : job.type.later)
  move.wake(job.type)
}

// ── groups ───────────────────────────────────────────────────────────────────────────────────────────────────────────

export function groupOf(type: TypeData, key: string): Group {
  let group = type.groups.get(key)
  if (!group) {
    const members = new Heap<Member>((a, b) => a.job.accepted < b.job.accepted)
    group = { key, type, members, running: undefined, placed: undefined, paused: undefined }
    type.groups.set(key, group)
  }
  return group
}

export function joinGroup(job: Job, key: string): void {
  job.group = groupOf(job.type, key)
  job.group.members.push(job.member!)
}

/** Leaves at the end of its life; the next one may come. */
export function leaveGroup(move: Move, job: Job): void {
  const { group } = job
  if (!group || job.member!.heapIndex === -1) return
  group.members.remove(job.member!)
  if (group.running === job) group.running = undefined
  refreshGroup(move, group)
}

/** Lets the head stand in line if it may run, and nobody else. */
export function refreshGroup(move: Move, group: Group): void {
  const head = group.members.peek()?.job
  const next = head && isWaiting(head.state) && !group.running && !group.paused ? head : undefined
  const { placed } = group
  if (placed !== next) {
    if (placed) {
      leaveHeap(placed)
      stand(placed, placed.due ? group.type.asideDue : group.type.asideLater)
    }
    group.placed = next
    if (next) {
      leaveHeap(next)
      lineUp(move, next)
    }
  }
  if (!head && !group.paused) group.type.groups.delete(group.key)
}
