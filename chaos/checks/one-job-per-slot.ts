// Every slot of the schedule, from the first to the last one that was fired, has one job. (S21)

import { completions, type History, type JobHistory, type Violation, violation } from '../history.ts'
import { everyMs, slotOf } from '../schedule.ts'

const check = 'slots'

export function oneJobPerSlot({ jobs }: History): Violation[] {
  const bySlot = Map.groupBy(
    jobs.filter(({ kind }) => kind === 'slot'),
    slotRun,
  )
  const slots = [...bySlot.keys()].toSorted((one, other) => one - other)
  const missing = slots.find((slot, index) => index > 0 && slot !== slots[index - 1]! + everyMs)
  return [
    ...[...bySlot].flatMap(([slot, found]) => doubled(slot, found)),
    ...(missing === undefined ? [] : [violation(check, `the slot before ${nameOf(missing)} has no job`)]),
  ]
}

function doubled(slot: number, found: readonly JobHistory[]): Violation[] {
  const runs = found.flatMap(completions)
  if (found.length === 1 && runs.length <= 1) return []
  const entries = found.flatMap((job) => job.entries)
  const sentence = `the slot ${nameOf(slot)} has ${found.length} jobs, completed ${runs.length} times`
  return [violation(check, sentence, undefined, entries)]
}

/** The slot that its handler saw; of a job that never ran, that of its id. */
function slotRun({ id, entries }: JobHistory): number {
  const started = entries.find((entry) => entry.what === 'started')
  return started?.slotAt ?? slotOf(id)!
}

const nameOf = (slot: number): string => new Date(slot).toISOString()
