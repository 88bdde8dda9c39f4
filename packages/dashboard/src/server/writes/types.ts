// Pauses and limits of types.

import type { GroupLimitsPatch, LimitsPatch } from 'holdfast'
import { invalid } from '../http/errors.ts'
import type { Call, Context } from '../route.ts'
import { objectOf, optionalText, typeOf } from './body.ts'

const ok = { status: 'ok' }

export const pauseType =
  (isPause: boolean) =>
  async ({ handles, reads, audit }: Context, { actor, body }: Call) => {
    const [type, group] = [typeOf(body), optionalText(body, 'group')]
    await handles.of(actor)[isPause ? 'pause' : 'resume']({ ...type, group }, { by: actor })
    reads.clear()
    audit.wrote(actor, `${isPause ? 'paused' : 'resumed'} ${type.face} '${type.name}'`, { ...type, group })
    return ok
  }

export async function setLimits({ handles, reads, audit }: Context, { actor, body }: Call) {
  const [type, group] = [typeOf(body), optionalText(body, 'group')]
  const limits = numbersOf(objectOf('limits', body.limits))
  if (Object.keys(limits).length === 0) throw invalid('limits: expected at least one.')
  const { limits: admin } = handles.of(actor)
  if (group === undefined) await admin.set(type, limits as LimitsPatch, { by: actor })
  else await admin.set({ ...type, group }, limits as GroupLimitsPatch, { by: actor })
  reads.clear()
  audit.wrote(actor, `set limits of ${type.face} '${type.name}'`, { ...type, group, limits })
  return ok
}

export async function clearLimits({ handles, reads, audit }: Context, { actor, body }: Call) {
  const [type, group] = [typeOf(body), optionalText(body, 'group')]
  await handles.of(actor).limits.clear({ ...type, group }, { by: actor })
  reads.clear()
  audit.wrote(actor, `removed the limits that were set of ${type.face} '${type.name}'`, { ...type, group })
  return ok
}

/** JSON has no Infinity: a limit of 'Infinity' is one. Patches are nested once or twice. */
function numbersOf(patch: Readonly<Record<string, unknown>>, depth = 0): Record<string, unknown> {
  const entries = Object.entries(patch).map(([key, value]): [string, unknown] => {
    if (value === 'Infinity') return [key, Infinity]
    const isNested = value !== null && typeof value === 'object' && !Array.isArray(value) && depth < 3
    return [key, isNested ? numbersOf(value as Record<string, unknown>, depth + 1) : value]
  })
  return Object.fromEntries(entries)
}
