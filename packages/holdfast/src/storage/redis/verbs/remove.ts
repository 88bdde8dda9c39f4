// remove: one call of lua/remove.ts.

import type { JobRef, RemoveOptions, RemoveVerdict } from '../../storage.ts'
import { removeCodes } from '../codec/codes.ts'
import { type List, refOf } from '../codec/fields.ts'
import { packed, packRefs } from '../codec/requests.ts'
import { refuseTransaction } from './refuse-transaction.ts'
import { durable, type ScriptRunner } from './script-runner.ts'

export async function remove(
  scripts: ScriptRunner,
  jobs: readonly JobRef[],
  { trees, afterMs, tx }: RemoveOptions<unknown>,
): Promise<RemoveVerdict[]> {
  refuseTransaction(tx)
  const [, answers] = await scripts.ask('remove', [packed([packRefs(jobs), trees, afterMs])], durable)
  return (answers as List[]).map(removeVerdict)
}

function removeVerdict([code, value]: List): RemoveVerdict {
  switch (code) {
    case removeCodes.kept:
      return { verdict: 'kept', until: value as number }
    case removeCodes.not_root:
      return { verdict: 'not_root', root: refOf(value) }
    case removeCodes.referenced:
      return { verdict: 'referenced', by: (value as List).map(refOf) }
    case removeCodes.removed:
      return { verdict: 'removed' }
    case removeCodes.not_terminal:
      return { verdict: 'not_terminal' }
    case removeCodes.not_found:
      return { verdict: 'not_found' }
    default:
      return { verdict: 'untouched' }
  }
}
