// Parses JSON of an untrusted sender.

import { isObject } from './schema.ts'

const maxDepth = 32

/**
 * Returns undefined for text that is not JSON, for nesting deeper than 32 levels (recursive code would exhaust the stack), and for
 * a field named `__proto__` (a copy of the object would get another prototype).
 */
export function parseJson(text: string): { readonly value: unknown } | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  return isHarmless(value) ? { value } : undefined
}

// Level by level and not by recursion, since the depth itself may be hostile.
function isHarmless(value: unknown): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return false
    const next: unknown[] = []
    for (const item of level) {
      if (isObject(item) && Object.hasOwn(item, '__proto__')) return false
      if (typeof item !== 'object' || item === null) continue
      for (const child of Object.values(item)) if (typeof child === 'object' && child !== null) next.push(child)
    }
    level = next
  }
  return true
}
