// revive: one call of lua/revive.ts.

import type { Revival, ReviveOptions, ReviveVerdict } from '../../storage.ts'
import { onlyCodes, reviveCodes, wordsOf } from '../codec/codes.ts'
import { packed, packWhen } from '../codec/requests.ts'
import { refuseTransaction } from './refuse-transaction.ts'
import { durable, type ScriptRunner } from './script-runner.ts'

const verdicts = wordsOf(reviveCodes)

export async function revive(
  scripts: ScriptRunner,
  jobs: readonly Revival[],
  { only, tx, ...when }: ReviveOptions<unknown>,
): Promise<ReviveVerdict[]> {
  refuseTransaction(tx)
  const asked = jobs.map(({ type, id, payload }) => [type, id, payload])
  const [, answers] = await scripts.ask('revive', [packed([asked, packWhen(when), only && onlyCodes[only]])], durable)
  return (answers as number[]).map((code) => ({ verdict: verdicts.get(code)! }))
}
