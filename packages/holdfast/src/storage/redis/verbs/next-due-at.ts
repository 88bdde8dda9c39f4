// nextDueAt: one call of lua/next-due-at.ts.

import type { ClaimType } from '../../storage.ts'
import { packLimits } from '../codec/limits.ts'
import { encodeType, packed } from '../codec/requests.ts'
import type { Unpacked } from '../codec/unpack.ts'
import type { ScriptRunner } from './script-runner.ts'

interface DueAt {
  readonly at: number
  readonly now: number
}

export async function nextDueAt(scripts: ScriptRunner, types: readonly ClaimType[]): Promise<DueAt | undefined> {
  const asked = packed(types.flatMap(({ type, limits }) => [type, encodeType(type), packLimits(limits)]))
  const [now, at] = await scripts.ask('nextDueAt', [asked])
  return dueAt(at, now) ?? undefined
}

/** Null: never. */
export const dueAt = (at: Unpacked, now: Unpacked): DueAt | null =>
  at === false ? null : { at: at as number, now: now as number }
