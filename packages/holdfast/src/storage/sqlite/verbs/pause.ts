// pause: the shared rules, and the row that must remember it.

import type { PauseRequest } from '../../storage.ts'
import { pause as pauseMove } from '../../rules/pause.ts'
import type { SqliteMove } from '../rules/move.ts'

export function pause(move: SqliteMove, request: PauseRequest): void {
  const type = move.session.typeFor(request.type)
  pauseMove(move, type, request)
  move.session.keepPause(type)
}
