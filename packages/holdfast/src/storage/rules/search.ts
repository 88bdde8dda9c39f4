// The search fields of a job, and which jobs a `where` finds. For drivers that scan; the others have the same rules in their index.

import type { SearchFields, SearchRange, SearchValue, Where } from '../storage.ts'

export function matchesWhere(fields: SearchFields | undefined, where: Where): boolean {
  return Object.entries(where).every(([name, wanted]) => {
    const value = fields !== undefined && Object.hasOwn(fields, name) ? fields[name] : undefined
    return value !== undefined && matchesValue(value, wanted)
  })
}

function matchesValue(value: SearchValue, wanted: Where[string]): boolean {
  if (typeof wanted !== 'object') return value === wanted
  return Array.isArray(wanted) ? wanted.includes(value) : isInRange(value, wanted as SearchRange)
}

/** A bound of another kind than the value matches nothing: a text is neither above nor below a number. */
function isInRange(value: SearchValue, { gt, gte, lt, lte }: SearchRange): boolean {
  const isAbove = (bound: number | string): boolean => typeof bound === typeof value && value > bound
  const isBelow = (bound: number | string): boolean => typeof bound === typeof value && value < bound
  if (gt !== undefined && !isAbove(gt)) return false
  if (gte !== undefined && !isAbove(gte) && value !== gte) return false
  if (lt !== undefined && !isBelow(lt)) return false
  return lte === undefined || isBelow(lte) || value === lte
}
