// Every invariant that the simulator checks, by the numbers of the reliability rules; and those that it does not, with the reason.

import type { History, Invariant, Violation } from '../history/entries.ts'
import { attemptsAreBounded } from './attempts-are-bounded.ts'
import { backoffIsKept } from './backoff-is-kept.ts'
import { cancelIsFinal } from './cancel-is-final.ts'
import { chainMovesAreWhole } from './chain-moves-are-whole.ts'
import { countsAreTrue } from './counts-are-true.ts'
import { deduplication } from './deduplication.ts'
import { everythingEnds } from './everything-ends.ts'
import { fencesNeverRepeat } from './fences-never-repeat.ts'
import { lateHolderAccepted } from './late-holder-accepted.ts'
import { limits } from './limits.ts'
import { neverEarly } from './never-early.ts'
import { noJobLost } from './no-job-lost.ts'
import { noLostWakeUp } from './no-lost-wake-up.ts'
import { noStarvation } from './no-starvation.ts'
import { nothingAltered } from './nothing-altered.ts'
import { nothingLeft } from './nothing-left.ts'
import { oncePerSlot } from './once-per-slot.ts'
import { oneEffect } from './one-effect.ts'
import { oneHolder } from './one-holder.ts'
import { onlyTheHolderWrites } from './only-the-holder-writes.ts'
import { order } from './order.ts'
import { pausesHold } from './pauses-hold.ts'
import { quietStop } from './quiet-stop.ts'
import { recovery } from './recovery.ts'
import { resultsLast } from './results-last.ts'
import { returns } from './return.ts'
import { terminalIsFinal } from './terminal-is-final.ts'
import { verdictsAreTrue } from './verdicts-are-true.ts'
import { waitsEnd } from './waits-end.ts'

export const invariants: readonly Invariant[] = [
  noJobLost,
  nothingAltered,
  oneEffect,
  oneHolder,
  fencesNeverRepeat,
  onlyTheHolderWrites,
  verdictsAreTrue,
  terminalIsFinal,
  cancelIsFinal,
  lateHolderAccepted,
  deduplication,
  resultsLast,
  chainMovesAreWhole,
  neverEarly,
  order,
  limits,
  attemptsAreBounded,
  backoffIsKept,
  countsAreTrue,
  nothingLeft,
  oncePerSlot,
  pausesHold,
  waitsEnd,
  quietStop,
  everythingEnds,
  recovery,
  returns,
  noLostWakeUp,
  noStarvation,
]

/** Invariants that no simulated run can express. */
export const notSimulated: Readonly<Record<string, string>> = {
  S23: 'the memory driver has no transactions: cases of the conformance suite and the kill tests check it',
  S24: 'one storage with one prefix: names that collide are cases of the conformance suite, on every driver',
  S27: 'one version runs: there is no release yet to mix with',
  L3: 'no run stores bytes that cannot be decoded: tests of the Queue and of each driver do',
}

export function check(history: History): Violation[] {
  return invariants.flatMap((invariant) => invariant.check(history))
}
