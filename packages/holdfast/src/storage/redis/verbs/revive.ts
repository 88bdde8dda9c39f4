// revive: one call of lua/revive.ts.

import type { JobRef, ReviveOptions, ReviveVerdict } from '../../storage.ts'
import { reviveCodes, wordsOf } from '../codec/codes.ts'
import { packed, packRefs, packWhen } from '../codec/requests.ts'
import { refuseTransaction } from './refuse-transaction.ts'
import { durable, type ScriptRunner } from './script-runner.ts'

const verdicts = wordsOf(reviveCodes)

export async function revive(
  scripts: ScriptRunner,
  jobs: readonly JobRef[],
  { runAt, tx }: ReviveOptions<unknown>,
): Promise<ReviveVerdict[]> {
  refuseTransaction(tx)
  const [, answers] = await scripts.ask('revive', [packed([packRefs(jobs), packWhen({ runAt })])], durable)
  return (answers as number[]).map((code) => ({ verdict: verdicts.get(code)! }))
}
