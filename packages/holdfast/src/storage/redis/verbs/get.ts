// get: one call of lua/get.ts.

import type { GetOptions, JobRecord, JobRef, KeyRef } from '../../storage.ts'
import type { List } from '../codec/fields.ts'
import { jobRecord } from '../codec/job-record.ts'
import type { Packed } from '../codec/pack.ts'
import { packed } from '../codec/requests.ts'
import { refuseTransaction } from './refuse-transaction.ts'
import type { ScriptRunner } from './script-runner.ts'

export async function get(
  scripts: ScriptRunner,
  jobs: readonly (JobRef | KeyRef)[],
  { parts = [], tx }: GetOptions<unknown>,
): Promise<(JobRecord | undefined)[]> {
  refuseTransaction(tx)
  const asked = Object.fromEntries(parts.map((part) => [part, true]))
  const [, answers] = await scripts.ask('get', [packed([jobs.map(packRef), asked])])
  return (answers as List).map((answer) => (answer === false ? undefined : jobRecord(answer)))
}

/** The third value tells a key from an id. */
const packRef = (ref: JobRef | KeyRef): Packed => ('key' in ref ? [ref.type, ref.key, true] : [ref.type, ref.id])
