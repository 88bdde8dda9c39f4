// admin.limits: the limits of every face.

import { type LimitsCalls, readLimitsOptions } from '../engine/limits/limits-calls.ts'
import type { GroupLimitsPatch, LimitsPatch } from '../engine/limits/limits-options.ts'
import { invalidArgument } from '../errors.ts'
import { isList } from '../option-checks.ts'
import { resolveOptions } from '../resolve-options.ts'
import type { AdminLimits } from './admin.ts'
import { byOptions, type NamedType, pauseTarget, typeOf } from './options.ts'

type Target = NamedType & { readonly group?: string | undefined }
type By = { readonly by?: string | undefined }

/** @param operator of createAdmin() */
export function adminLimits(calls: LimitsCalls, operator: string | undefined): AdminLimits {
  const change = async (where: string, target: Target, patch: LimitsPatch | GroupLimitsPatch | null, options?: By) => {
    const { type, group } = pauseTarget(where, target)
    const { by = operator } = resolveOptions(where, options, byOptions)
    await calls.set(type, patch, { group, by })
  }
  return {
    get: async (target, options) => calls.get(typeOf('limits.get', target), options, { release: 0 }),
    async list(targets) {
      isList('targets', targets)
      return calls.getMany(
        targets.map(({ face, name, groups, states, slowedUntil }, index) => ({
          type: typeOf(`targets[${index}]`, { face, name }),
          groups: resolveOptions('limits.list', { groups }, readLimitsOptions).groups ?? [],
          counts: states && { states, ...(slowedUntil !== undefined && { slowedUntil }) },
        })),
      )
    },
    set: async (target: Target, patch: LimitsPatch | GroupLimitsPatch, options?: By) => {
      if (patch === null) throw invalidArgument('limits.set', 'the limits to set: clear() removes them', patch)
      await change('limits.set', target, patch, options)
    },
    clear: async (target, options) => change('limits.clear', target, null, options),
  }
}
