// recover: takes back expired leases, or attempts over an age.

import { recover as recoverByRules } from '../../rules/recover.ts'
import type { Recovered, RecoverRequest } from '../../storage.ts'
import { loadLost } from '../rules/load-lists.ts'
import type { PostgresType } from '../rules/type-registry.ts'
import { maxLimit } from '../sql/statement.ts'
import type { OpenStorage } from './open-storage.ts'

export async function recover({ types, database, runner }: OpenStorage, request: RecoverRequest): Promise<Recovered[]> {
  await types.find(database, request.types)
  const limit = Math.min(request.limit, maxLimit)
  const { olderThanMs } = request
  return runner.run({
    prepare: async (loader) => {
      const tids = request.types.flatMap((type) => types.tidOf(type) ?? [])
      await loadLost(
        loader,
        tids.map((tid) => ({ tid, limit })),
        olderThanMs === undefined ? null : loader.now - olderThanMs,
      )
    },
    rules: (move) => recoverByRules(move, request, (type) => move.set.lostOf(type as PostgresType)),
  })
}
