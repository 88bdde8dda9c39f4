// Every check of a run: pure functions of its history.

import type { History, Violation } from '../history.ts'
import { attemptsWereRuns } from './attempts-were-runs.ts'
import { cancelIsFinal } from './cancel-is-final.ts'
import { claimsInOrder } from './claims-in-order.ts'
import { countsAreTrue } from './counts-are-true.ts'
import { processesReconnect } from './processes-reconnect.ts'
import { fencesNeverRepeat } from './fences-never-repeat.ts'
import { groupsTakeTurns } from './groups-take-turns.ts'
import { keysHold } from './keys-hold.ts'
import { limitsHold } from './limits-hold.ts'
import { neverEarly } from './never-early.ts'
import { noJobLost } from './no-job-lost.ts'
import { oneCompletion } from './one-completion.ts'
import { oneJobPerSlot } from './one-job-per-slot.ts'
import { pausesHold } from './pauses-hold.ts'
import { processesEndedWell } from './processes-ended-well.ts'
import { ratesHold } from './rates-hold.ts'
import { redrivesApply } from './redrives-apply.ts'
import { reportsAreFenced } from './reports-are-fenced.ts'
import { rowsAgree } from './rows-agree.ts'
import { settlesWereInForce } from './settles-were-in-force.ts'
import { slowDownsHold } from './slow-downs-hold.ts'
import { verdictsAreTrue } from './verdicts-are-true.ts'

const ofEachJob = [
  noJobLost,
  oneCompletion,
  settlesWereInForce,
  neverEarly,
  verdictsAreTrue,
  fencesNeverRepeat,
  attemptsWereRuns,
  cancelIsFinal,
  reportsAreFenced,
]
const ofTheWhole = [
  countsAreTrue,
  processesEndedWell,
  processesReconnect,
  rowsAgree,
  pausesHold,
  claimsInOrder,
  redrivesApply,
  limitsHold,
  ratesHold,
  slowDownsHold,
  groupsTakeTurns,
  oneJobPerSlot,
  keysHold,
]

export function check(history: History): Violation[] {
  return [
    ...history.jobs.flatMap((job) => ofEachJob.flatMap((one) => one(job))),
    ...ofTheWhole.flatMap((one) => one(history)),
  ]
}
