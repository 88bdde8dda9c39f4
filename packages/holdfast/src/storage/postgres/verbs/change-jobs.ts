// Runs the rules on jobs that exist: what cancel, revive and remove have in common.

import type { JobRef } from '../../storage.ts'
import { wantJobs } from '../rules/load-request.ts'
import type { PostgresMove } from '../rules/move.ts'
import type { JoinedTransaction } from '../rules/rule-runner.ts'
import type { OpenStorage } from './open-storage.ts'
import { findTypes } from './register-types.ts'

export async function changeJobs<T>(
  open: OpenStorage,
  refs: readonly JobRef[],
  rules: (move: PostgresMove) => T,
  joined?: JoinedTransaction,
): Promise<T> {
  await findTypes(open, refs, joined)
  return open.runner.run({ want: (loaded) => wantJobs(loaded, open.types, refs), rules }, joined)
}
