// Waiting jobs: ready in the line of their type, or aside in their group. A group is in the ring while one of its jobs may
// start (flow.ts).
// Invariant: a group is in the ring exactly if it is not paused, held or full, no member of an ordered one runs, and a member
// waits: of an ordered group, its head. Its turnAt is the instant at which it may start a job, or a past one if that has come.

import { isWaiting } from './states.ts'
import type { NewJob, When } from '../../storage.ts'
import type { Group } from '../flow.ts'
import type { Job, Move } from '../move.ts'

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
  const { group } = job
  if (!group) {
    move.place(job, 'ready')
    move.wake(job.type)
    return
  }
  move.place(job, 'aside')
  // The ring has an unordered group at its earliest job already, or this job is its first: no member needs to be read.
  const isKnown = group.turnAt !== undefined || group.size - group.running === 1
  if (!group.ordered && isKnown) bringForward(move, group, job)
  else refreshGroup(move, group)
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
  if (job.state === 'processing') freeLimits(move, job)
}

/** A job leaves processing: its group and its type have room for another. wait() or leaveGroup() follows. */
function freeLimits(move: Move, { type, group }: Job): void {
  if (group) move.changeGroup(group, { running: group.running - 1, isFull: false })
  if (!move.flowOf(type)?.isFull) return
  move.changeFlow(type, { isFull: false })
  move.wake(type)
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
  if (job.group) refreshGroup(move, job.group)
}

/** Makes an unfinished job a member of its group. The caller has checked the kind (refuse.ts). */
export function joinGroup(move: Move, job: Job): void {
  if (!job.group) return
  move.addMember(job)
  const { group, membership } = job
  move.changeGroup(group, { size: group.size + 1, ordered: membership !== 'unordered' })
}

/** Removes an ended job from its group, so that the next one may start. @param wasRunning it ended from processing */
export function leaveGroup(move: Move, job: Job, wasRunning: boolean): void {
  const { group } = job
  if (!group) return
  move.removeMember(job)
  move.changeGroup(group, { size: group.size - 1 })
  // The place of an unordered group in the ring depends on its waiting jobs only.
  if (group.ordered || !wasRunning || group.turnAt === undefined) refreshGroup(move, group)
}

/** A failed job holds its group, if it was added so. Call it before leaveGroup(). */
export function holdGroup(move: Move, { group, membership, id }: Job): void {
  if (group && membership === 'hold') move.changeGroup(group, { heldBy: [...(group.heldBy ?? []), id] })
}

/** The failed job is revived, or is gone: it holds its group no longer. */
export function releaseHold(move: Move, job: Job): void {
  if (job.membership !== 'hold' || job.state !== 'failed') return
  // Looked up: the group of an ended job may have been deleted and stored anew.
  const group = move.groupOf(job.type, job.group!.key)
  if (!group.heldBy?.includes(job.id)) return
  const others = group.heldBy.filter((id) => id !== job.id)
  move.changeGroup(group, { heldBy: others.length > 0 ? others : undefined })
  refreshGroup(move, group)
}

/** Puts a group where it belongs: in the ring, or out of it. A group that may be claimed now, and still may, keeps its place. */
export function refreshGroup(move: Move, group: Group): void {
  const at = startsAt(move, group)
  const { turnAt } = group
  if (at === turnAt) return
  if (at === undefined) return move.changeGroup(group, { turnAt: undefined })
  if (turnAt !== undefined && turnAt <= move.now && at <= move.now) return
  move.changeGroup(group, { turnAt: at, turn: move.takeNumber() })
  if (turnAt === undefined || at < turnAt) move.wake(group.type)
}

/** As refreshGroup(), for a job that began to wait in an unordered group: its turn can only come earlier. */
function bringForward(move: Move, group: Group, { runAt }: Job): void {
  if (!mayStart(group)) return
  const { turnAt } = group
  const at = atTheEarliest(move, group, runAt)
  if (turnAt === undefined || (turnAt > move.now && at < turnAt)) {
    move.changeGroup(group, { turnAt: at, turn: move.takeNumber() })
  }
  move.wake(group.type)
}

/** When a group may start its next job. Undefined: once another call changes that. */
export function startsAt(move: Move, group: Group): number | undefined {
  if (!mayStart(group) || group.size <= group.running) return undefined
  const runAt = group.ordered ? runAtOfHead(move, group) : move.firstRunAt(group)
  return runAt === undefined ? undefined : atTheEarliest(move, group, runAt)
}

const mayStart = ({ paused, heldBy, isFull, ordered, running }: Group): boolean =>
  !paused && !heldBy && !isFull && !(ordered && running > 0)

function runAtOfHead(move: Move, group: Group): number | undefined {
  const head = move.headOf(group)
  return head && isWaiting(head.state) ? head.runAt : undefined
}

const atTheEarliest = ({ now }: Move, { slowedUntil, rateFreeAt }: Group, runAt: number): number =>
  Math.max(now, runAt, slowedUntil, rateFreeAt)
