// Every planted defect. Each must be found, by one of the invariants that it names.

import { addDefects } from './adds.ts'
import { claimDefects } from './claims.ts'
import type { Defect } from './defect.ts'
import { operationDefects } from './operations.ts'
import { outcomeDefects } from './outcomes.ts'
import { processDefects } from './processes.ts'

export const defects: readonly Defect[] = [
  ...addDefects,
  ...claimDefects,
  ...outcomeDefects,
  ...operationDefects,
  ...processDefects,
]
