// How jobs wait: in line, or behind the head of their group. A group takes part in the line with its head alone, so that
// a busy or paused one costs the claims of others nothing.

import { isWaiting } from './states.ts'
import type { When } from '../../storage.ts'
import type { Group, Job, Move } from '../move.ts'

export function dueAt(move: Move, { runAt, delayMs }: When): number {
  if (delayMs !== undefined) return move.now + delayMs
  return runAt === undefined ? move.now : Math.max(runAt, move.now)
}

/** Lets a job wait for its runAt. `failing` keeps that name; otherwise it is queued or scheduled. */
export function wait(move: Move, job: Job, failing = false): void {
  move.setState(job, failing ? 'failing' : waitingState(move, job.runAt))
  if (job.group) {
    move.place(job, 'aside')
    refreshGroup(move, job.group)
  } else {
    move.place(job, 'ready')
    move.wake(job.type)
  }
}

export const waitingState = (move: Move, runAt: number): 'queued' | 'scheduled' =>
  runAt <= move.now ? 'queued' : 'scheduled'

/** Tells that a job began to wait. */
export function tellWaiting(move: Move, job: Job): void {
  move.event(job, job.state === 'scheduled' ? 'scheduled' : 'queued', job.failures)
}

/** Takes a job out of wherever it stands. The caller gives it its next state. */
export function leave(move: Move, job: Job): void {
  move.place(job, 'nowhere')
  const { group } = job
  if (group?.placed === job) group.placed = undefined
  if (group?.running === job) group.running = undefined
}

/** Puts a job behind all that waits now. */
export function goBehind(move: Move, job: Job, runAt: number): void {
  job.runAt = runAt
  job.order = move.takeNumber()
}

/** At the end of its life; the next one may come. */
export function leaveGroup(move: Move, job: Job): void {
  if (job.group && move.removeMember(job)) refreshGroup(move, job.group)
}

/** Lets the head stand in line if it may run, and nobody else. */
export function refreshGroup(move: Move, group: Group): void {
  const head = move.headOf(group)
  const next = head && isWaiting(head.state) && !group.running && !group.paused ? head : undefined
  const { placed } = group
  if (placed !== next) {
    if (placed) move.place(placed, 'aside')
    group.placed = next
    if (next) {
      move.place(next, 'ready')
      move.wake(next.type)
    }
  }
  move.keepGroup(group, head === undefined)
}
