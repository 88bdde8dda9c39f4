// The safety invariants, for one call: from the job before and after it, and from what the caller was told. They know nothing of the
// rules by which the storage decided.

import type { Answer, StorageCall } from './storage-rules.ts'
import { type Fence, isSame, isTerminal, type Job } from './state.ts'

/** @param used every fence that something refers to @returns each with the number of its invariant */
export function checkCall(
  before: Job,
  call: StorageCall,
  answer: Answer,
  maxAttempts: number,
  used: () => Iterable<Fence>,
): string[] {
  const found: string[] = []
  const { job: after } = answer
  const check = (holds: boolean, violation: string): void => void (holds || found.push(violation))
  const isChanged = after !== before && !isEqual(before, after)

  check((after.state === 'held') === (after.holder !== undefined), 'S1: a job is held by none, and waits for none')
  check(after.failures <= maxAttempts, 'S17: more failures than attempts')
  if (isTerminal(before.state) && isChanged) {
    const mayReturn = before.state !== 'completed' && (call.verb === 'revive' || call.verb === 'add')
    check(mayReturn, `S8: a ${before.state} job was changed by a ${call.verb}`)
  }
  if (before.cancelling && after.life === before.life && !after.cancelling && isChanged) {
    check(
      after.state === 'cancelled' || after.state === 'completed',
      `S9: a job was asked to stop and is ${after.state}`,
    )
  }
  if (call.verb === 'settle' || call.verb === 'extend') checkHolder(before, call, answer, isChanged, check)
  if (call.verb === 'claim') checkClaim(before, answer, maxAttempts, used, check)
  if (call.verb === 'recover' && isChanged && !isTerminal(before.state)) {
    const isLost = before.state === 'held' && before.over
    check(isLost, 'S4: a lease was taken back that was not over, or not the one that was seen')
    if (isLost) checkLoss(before, after, check)
  }
  if (call.verb === 'cancel') {
    check(answer.verdict !== 'cancelled' || after.state === 'cancelled', 'S9: told cancelled, and is not')
    check(answer.verdict !== 'cancelling' || after.cancelling, 'S9: told cancelling, and is not')
  }
  return found
}

type Check = (holds: boolean, violation: string) => void

function checkHolder(
  before: Job,
  call: StorageCall & { readonly fence: Fence },
  { job: after, verdict, told }: Answer,
  isChanged: boolean,
  check: Check,
): void {
  const isHolder = before.state === 'held' && isSame(before.holder!, call.fence)
  check(isHolder || !isChanged, `S6: a ${call.verb} of another run than the holder's was written`)
  if (call.verb === 'extend') {
    const isExtended = verdict === 'extended' || verdict === 'cancelling'
    check(
      isHolder === isExtended,
      isHolder ? 'S10: the heartbeat of the holder was refused' : 'S7: told extended, and is not',
    )
    return
  }
  const known = before.ended.find(
    ({ fence, how }) => isSame(fence, call.fence) && how !== 'stalled' && how !== 'cancelled',
  )
  const isSettled = verdict === 'settled'
  if (isHolder) {
    check(isSettled, `S10: the outcome of the holder was answered ${verdict}`)
    check(!isSettled || told === after.state, 'S7: told another state than the one that was reached')
  } else if (known) {
    check(
      isSettled && told === known.state,
      `S7: a repeat was answered ${verdict} ${told ?? ''}, the first call ${known.state}`,
    )
  } else {
    check(!isSettled, 'S7: told settled, and is not')
  }
}

/** It costs an attempt, except if the job was held ahead, and no heartbeat says that it was started. */
function checkLoss(before: Job, after: Job, check: Check): void {
  if (before.unstarted) check(after.failures === before.failures, 'S17: a job that may not have run was charged for it')
  else check(after.failures === before.failures + 1, 'S17: a lost lease was not counted')
}

function checkClaim(
  before: Job,
  { job: after, verdict, fence }: Answer,
  maxAttempts: number,
  used: () => Iterable<Fence>,
  check: Check,
): void {
  const wasHeld = before.state === 'held'
  const isClaimed = verdict === 'claimed'
  check(!wasHeld || before.over || after.holder === before.holder, 'S4: a job was claimed while it was held')
  if (wasHeld && before.over) checkLoss(before, after, check)
  if (!isClaimed) return
  const charged = wasHeld && !before.unstarted ? 1 : 0
  check(before.failures + charged < maxAttempts, 'S17: a job without an attempt left was claimed')
  const wasLostAhead = before.ended.some(({ how, fence: lost }) => how === 'stalled' && lost.ahead)
  const isLostAhead = wasHeld && before.over && before.holder!.ahead === true
  check(
    !fence!.ahead || !(before.slotOnly || wasLostAhead || isLostAhead),
    'S17: a job that may have ended its process was held ahead again',
  )
  check(!before.cancelling, 'S9: a job was claimed that was asked to stop')
  check(after.attempt > before.attempt, 'S5: the attempt does not grow')
  for (const other of used()) check(!isSame(other, fence!), 'S5: a fence was given twice')
}

function isEqual(a: Job, b: Job): boolean {
  return (
    a.state === b.state &&
    a.life === b.life &&
    a.attempt === b.attempt &&
    a.failures === b.failures &&
    a.cancelling === b.cancelling &&
    a.over === b.over &&
    a.ended.length === b.ended.length &&
    (a.holder === b.holder || (a.holder !== undefined && b.holder !== undefined && isSame(a.holder, b.holder)))
  )
}
