// Fields of the scripts' answers.

import { retentionOfCode } from '../../retention.ts'
import { reasonNames, stateNames } from '../../rules/job/codes.ts'
import type { EndReason, JobRef, JobState, Retention } from '../../storage.ts'
import type { Unpacked } from './unpack.ts'

export type List = Unpacked[]

/** False is absence: no field of the contract that may be absent is ever false. */
export const optional = <T extends Unpacked>(value: Unpacked): T | undefined =>
  value === false ? undefined : (value as T)

export const text = (value: Unpacked): string => (value as Buffer).toString()

export const optionalText = (value: Unpacked): string | undefined =>
  value instanceof Buffer ? value.toString() : undefined

export const stateOf = (value: Unpacked): JobState => stateNames[value as number]!

export const reasonOf = (value: Unpacked): EndReason | undefined => reasonNames[value as number]

export const refOf = (value: Unpacked): JobRef => ({ type: text((value as List)[0]), id: text((value as List)[1]) })

export function retentionOf(value: Unpacked): Retention {
  if (!Array.isArray(value)) return retentionOfCode(value as number)
  const [completedMs, failedMs, cancelledMs] = value as [number, number, number]
  return { completedMs, failedMs, cancelledMs }
}
