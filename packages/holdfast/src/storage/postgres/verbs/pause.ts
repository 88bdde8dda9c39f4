// pause: a type, in its own row; or a group, by the rules alone.

import { pause as pauseByRules } from '../../rules/pause.ts'
import type { PauseRequest } from '../../storage.ts'
import { pausedOf } from '../rules/group.ts'
import { encodeOptionalText } from '../sql/text.ts'
import type { OpenStorage } from './open-storage.ts'

export async function pause(
  { types, database, runner, statements }: OpenStorage,
  request: PauseRequest,
): Promise<void> {
  const { type: name, group } = request
  await types.register(database, [{ type: name }])
  const tid = types.tidOf(name)!
  await runner.run({
    prepare: async (loader) => {
      if (group !== undefined) return
      const [row] = await loader.connection.query(statements.lockType, [tid])
      loader.loaded.pauses.set(tid, pausedOf(row![1]!, row![2]!))
    },
    rules: (move) => pauseByRules(move, move.typeOf(name)!, request),
    after: async (connection, move) => {
      if (group !== undefined) return
      const { paused } = move.typeOf(name)!
      await connection.query(statements.pauseType, [tid, paused?.since ?? null, encodeOptionalText(paused?.by)])
    },
  })
}
