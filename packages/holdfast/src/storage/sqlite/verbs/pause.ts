// pause: the shared rule, then the row of the type.

import type { PauseRequest } from '../../storage.ts'
import { pause as pauseMove } from '../../rules/pause.ts'
import type { SqliteMove } from '../rules/move.ts'

export function pause(move: SqliteMove, request: PauseRequest): void {
  const type = move.set.types.ensure(request.type)
  pauseMove(move, type, request)
  move.set.types.touch(type)
}
