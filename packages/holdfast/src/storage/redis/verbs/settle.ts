// settle: one call of lua/settle.ts.

import { checkOutcomes } from '../../check.ts'
import type { Outcome, SettleVerdict } from '../../storage.ts'
import type { List } from '../codec/fields.ts'
import { packOutcomes } from '../codec/requests.ts'
import { settleVerdict } from '../codec/verdicts.ts'
import { refuseTransaction } from './refuse-transaction.ts'
import { durable, type ScriptRunner } from './script-runner.ts'

export async function settle(
  scripts: ScriptRunner,
  outcomes: readonly Outcome[],
  tx: unknown,
): Promise<SettleVerdict[]> {
  refuseTransaction(tx)
  checkOutcomes('redis', outcomes)
  const [, verdicts] = await scripts.ask('settle', packOutcomes(outcomes), durable)
  return (verdicts as List).map(settleVerdict)
}
