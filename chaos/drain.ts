// After the faults: waits until no job is live, sweeps, and reads the records.

import { createAdmin, type Storage } from 'holdfast'
import { type JobRecord, parseType } from 'holdfast/storage'
import { sleep } from './child.ts'
import { fenceOf } from './entries.ts'
import { type FinalRecord, terminalStates } from './history.ts'
import { passingTtlMs, queueTypes, type Result, typeOf } from './jobs.ts'
import type { Reported } from './reports.ts'
import { scheduleName, scheduleQueue } from './schedule.ts'

/** Ends the adds of the schedule: its jobs come every second, for as long as a worker runs. */
export async function pauseSchedule(storage: Storage): Promise<void> {
  const admin = createAdmin({ storage })
  await admin.schedules.pause({ face: 'queue', owner: scheduleQueue, name: scheduleName })
  await admin.close()
}

/** Returns false if a job is still live after the time limit. */
export async function drained(storage: Storage, withinMs: number): Promise<boolean> {
  const until = performance.now() + withinMs
  for (;;) {
    const counts = await countsOf(storage)
    const live = Object.entries(counts).filter(([state, count]) => count > 0 && !isTerminal(state))
    if (live.length === 0) return true
    if (performance.now() > until) return false
    await sleep(50)
  }
}

/** Sweeps all expired records. Returns the number of expired records that are left. */
export async function sweptAll(storage: Storage): Promise<number> {
  await sleep(passingTtlMs + 50)
  while ((await storage.sweep({ limit: 1_000 })).more);
  const { types } = await storage.count({ types: [typeOf('passing')] })
  return types.reduce((sum, { states }) => sum + Object.values(states).reduce((one, other) => one + other, 0), 0)
}

export async function countsOf(storage: Storage): Promise<Record<string, number>> {
  const { types } = await storage.count({ types: queueTypes })
  const counts: Record<string, number> = {}
  for (const { states } of types) {
    for (const [state, count] of Object.entries(states)) counts[state] = (counts[state] ?? 0) + count
  }
  return counts
}

export async function recordsOf(storage: Storage): Promise<FinalRecord[]> {
  const records: FinalRecord[] = []
  let cursor: string | undefined
  do {
    const page = await storage.list({
      of: 'jobs',
      types: queueTypes,
      limit: 1_000,
      order: 'asc',
      cursor,
      parts: ['result', 'attempts', 'progress', 'log'],
    })
    records.push(...page.items.map(finalOf))
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return records
}

function finalOf(record: JobRecord): FinalRecord {
  const { type, id, state, reason, attempt, failures, result, attempts = [] } = record
  const fence = result && valueOf<Result>(result).fence
  const ended = attempts.map((one) => {
    return { fence: fenceOf(one), outcome: one.outcome, state: one.state, endedAt: one.endedAt }
  })
  const progress = record.progress && valueOf<Reported>(record.progress)
  const log = record.log?.lines.map((line) => {
    return { attempt: line.attempt, at: line.at, ...valueOf<{ readonly fields: Reported }>(line.line).fields }
  })
  return { type: parseType(type).name, id, state, reason, attempt, failures, fence, attempts: ended, progress, log }
}

const valueOf = <T>(bytes: Uint8Array): T => JSON.parse(Buffer.from(bytes).toString()) as T

const isTerminal = (state: string): boolean => (terminalStates as readonly string[]).includes(state)
