// All cases, in the order of the run and of the report.

import type { Case } from '../case.ts'
import { add } from './add.ts'
import { backlog } from './backlog.ts'
import { chains } from './chains.ts'
import { drain } from './drain.ts'
import { held } from './held.ts'
import { idle } from './idle.ts'
import { limits } from './limits.ts'
import { operate } from './operate.ts'
import { rtt } from './rtt.ts'
import { scale } from './scale.ts'
import { size } from './size.ts'
import { steady } from './steady.ts'

export const cases: readonly Case[] = [
  add,
  drain,
  steady,
  rtt,
  backlog,
  size,
  idle,
  held,
  chains,
  scale,
  operate,
  limits,
]
