// Histories that the model once refused, although the contract allows what the drivers did.

import { after, test } from 'node:test'
import type { Command, JobSpec, OutcomeSpec } from '../../../conformance/src/model/commands.ts'
import { JobHistory } from '../../../conformance/src/model/reference/history.ts'
import { runCommand } from '../../../conformance/src/model/reference/run-command.ts'
import { drivers } from '../drivers.ts'
import { stopPostgres } from '../postgres-subject.ts'
import { stopPlaces } from '../redis-places.ts'

after(stopPlaces)
after(stopPostgres)

const job = (fields: Partial<JobSpec> = {}): JobSpec => ({
  type: 0,
  id: 0,
  when: 0,
  priority: 0,
  group: 0,
  key: 0,
  maxAttempts: 0,
  keep: 0,
  payload: 0,
  blockers: 0,
  pick: 0,
  onFailure: 0,
  deadline: 0,
  replace: false,
  member: 0,
  weight: 0,
  depth: 0,
  ...fields,
})

const outcome = (fields: Partial<OutcomeSpec>): OutcomeSpec => ({
  kind: 0,
  lease: 0,
  old: false,
  forged: 0,
  workerless: 0,
  when: 0,
  bytes: 0,
  stalled: 0,
  keep: 0,
  report: 0,
  slowDown: 0,
  next: job(),
  add: [],
  ...fields,
})

const add = (...jobs: readonly JobSpec[]): Command => ({ kind: 'add', jobs, tokens: 0, lost: false })
const claimAll: Command = {
  kind: 'claim',
  types: 2,
  slots: 3,
  each: 0,
  lease: 0,
  maxAttempts: 0,
  label: false,
  ahead: false,
  outcomes: [],
  lost: false,
}
const settle = (...outcomes: readonly OutcomeSpec[]): Command => ({ kind: 'settle', outcomes, lost: false })
const [completed, failed, continued] = [0, 2, 4]

const histories: Readonly<Record<string, readonly Command[]>> = {
  // One driver deletes both: three completed jobs, then two. Another counts two chains, and deletes the first.
  'a sweep that keeps one completed chain deletes a job alone, then a chain of two jobs': [
    add(job({ id: 0, keep: 3 }), job({ id: 1 })),
    claimAll,
    settle(outcome({ kind: completed })),
    settle(outcome({ kind: continued, next: job({ id: 2 }) })),
    claimAll,
    settle(outcome({ kind: completed })),
    { kind: 'sweep', limit: 0, keep: 4, type: 0 },
  ],
  // The chain failed, but by a job of another type: only a driver that counts chains deletes it.
  'a sweep that keeps no failed chain deletes one whose last job is of another type': [
    add(job()),
    claimAll,
    settle(outcome({ kind: continued, next: job({ type: 1 }) })),
    claimAll,
    settle(outcome({ kind: failed })),
    { kind: 'sweep', limit: 0, keep: 2, type: 0 },
  ],
  // The failed job is gone, but only a sweep has to release its group: until then a claim need not look at the others.
  'a claim leaves a job that is past its deadline, in a group that an expired job holds': [
    add(job({ group: 1, member: 1, keep: 3 })),
    claimAll,
    settle(outcome({ kind: failed })),
    add(job({ id: 1, group: 1, deadline: 1 })),
    { kind: 'advance', units: 3 },
    claimAll,
  ],
}

for (const driver of ['memory', 'sqlite', 'file', 'redis', 'postgres']) {
  for (const [name, commands] of Object.entries(histories)) {
    test(`${driver}: ${name}`, async () => {
      const subject = await drivers[driver]!()
      await subject.storage.connect()
      try {
        const history = new JobHistory(subject, [0, 0], undefined)
        await history.begin()
        for (const command of commands) await runCommand(history, command)
      } finally {
        await subject.storage.disconnect()
        await subject.close?.()
      }
    })
  }
}
