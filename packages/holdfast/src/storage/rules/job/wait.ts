// Waiting jobs: ready, or aside behind the head of their group. Only the head of a group is ever ready, so a busy or paused
// group costs the claims of other jobs nothing.

import { isWaiting } from './states.ts'
import type { NewJob, When } from '../../storage.ts'
import type { Group, Job, Move } from '../move.ts'

export function dueAt(move: Move, { runAt, delayMs, deduplication }: When & Pick<NewJob, 'deduplication'>): number {
  if (deduplication?.mode === 'debounce') {
    return move.now + Math.min(deduplication.windowMs, deduplication.maxWaitMs ?? Infinity)
  }
  if (delayMs !== undefined) return move.now + delayMs
  return runAt === undefined ? move.now : Math.max(runAt, move.now)
}

/** Lets a job wait for its runAt: as failing, or else as queued or scheduled. */
export function wait(move: Move, job: Job, isFailing = false): void {
  move.setState(job, isFailing ? 'failing' : waitingState(move, job.runAt))
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

/** Emits the event of a job that began to wait. */
export function emitWaiting(move: Move, job: Job): void {
  move.event(job, job.state === 'scheduled' ? 'scheduled' : 'queued', job.failures)
}

/** Removes a job from its place. The caller sets its next state. */
export function leave(move: Move, job: Job): void {
  move.place(job, 'nowhere')
  const { group } = job
  if (group?.placed === job) group.placed = undefined
  if (group?.running === job) group.running = undefined
}

/** Puts a job behind all jobs that wait now. */
export function moveToBack(move: Move, job: Job, runAt: number): void {
  job.runAt = runAt
  job.order = move.takeNumber()
}

/** Sets the runAt of a waiting job. */
export function reschedule(move: Move, job: Job, runAt: number): void {
  const isFailing = job.state === 'failing'
  leave(move, job)
  moveToBack(move, job, runAt)
  wait(move, job, isFailing)
}

/** Removes an ended job from its group, so that the next one may run. */
export function leaveGroup(move: Move, job: Job): void {
  if (job.group && move.removeMember(job)) refreshGroup(move, job.group)
}

/** Makes the head of a group ready if it may run, and no other member. */
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
