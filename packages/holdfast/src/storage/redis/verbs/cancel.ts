// cancel: one call of lua/cancel.ts.

import type { CancelOptions, CancelVerdict, JobRef } from '../../storage.ts'
import { cancelCodes, wordsOf } from '../codec/codes.ts'
import type { List } from '../codec/fields.ts'
import { packed, packRefs } from '../codec/requests.ts'
import { endedOf } from '../codec/verdicts.ts'
import { durable, type ScriptRunner } from './script-runner.ts'

const verdicts = wordsOf(cancelCodes)

export async function cancel(
  scripts: ScriptRunner,
  jobs: readonly JobRef[],
  { chains, abort, force, reason }: CancelOptions,
): Promise<CancelVerdict[]> {
  const [, answers] = await scripts.ask('cancel', [packed([packRefs(jobs), chains, abort, force, reason])], durable)
  return (answers as List[]).map(([code, ended]) => {
    const verdict = verdicts.get(code as number)!
    return ended ? { verdict, ended: (ended as List).map(endedOf) } : { verdict }
  })
}
