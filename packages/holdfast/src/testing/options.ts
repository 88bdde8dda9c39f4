// The options of drain().

import { sharedOptions } from '../engine/options.ts'
import { integerOrInfinity, isList } from '../option-checks.ts'
import type { Table } from '../resolve-options.ts'

export const drainOptions = {
  storage: sharedOptions.storage,
  types: { check: isList },
  limit: { default: Infinity, check: integerOrInfinity(1) },
} as const satisfies Table
