// recover: one call of lua/recover.ts.

import { checkRecoverRequest } from '../../check.ts'
import type { Recovered, RecoverRequest } from '../../storage.ts'
import type { List } from '../codec/fields.ts'
import { packed } from '../codec/requests.ts'
import { recoveredOf } from '../codec/verdicts.ts'
import type { ScriptRunner } from './script-runner.ts'

/** Leases that one call takes back, at most. */
const mostLeases = 100_000

export async function recover(scripts: ScriptRunner, request: RecoverRequest): Promise<Recovered[]> {
  checkRecoverRequest(request)
  const { types, limit, olderThanMs } = request
  const [, recovered] = await scripts.ask('recover', [packed([types, Math.min(limit, mostLeases), olderThanMs])])
  return (recovered as List).map(recoveredOf)
}
