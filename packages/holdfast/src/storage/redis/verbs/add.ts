// add: one call of lua/add.ts.

import { checkNewJobs } from '../../check.ts'
import type { AddVerdict, NewJob } from '../../storage.ts'
import type { List } from '../codec/fields.ts'
import { packAdd } from '../codec/requests.ts'
import { addVerdict } from '../codec/verdicts.ts'
import { refuseTransaction } from './refuse-transaction.ts'
import { durable, type ScriptRunner } from './script-runner.ts'

export async function add(scripts: ScriptRunner, jobs: readonly NewJob[], tx: unknown): Promise<AddVerdict[]> {
  refuseTransaction(tx)
  checkNewJobs('redis', jobs)
  const [now, verdicts] = await scripts.ask('add', packAdd(jobs), durable)
  if (verdicts) return (verdicts as List).map(addVerdict)
  // The fast path answers with the time alone: all of them are new.
  return jobs.map(({ type, id, token, runAt = 0, delayMs = 0 }) => {
    const isDue = delayMs <= 0 && runAt <= (now as number)
    const state = isDue ? 'queued' : 'scheduled'
    return { verdict: 'added', job: { type, id, token, state, createdAt: now as number } }
  })
}
