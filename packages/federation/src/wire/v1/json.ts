// JSON from a stranger.

import { isObject } from './schema.ts'

const maxDepth = 32

/**
 * Undefined: no JSON, nested deeper than messages ever are (whoever walks or writes it would run out of stack), or with a field
 * named `__proto__` (whoever copies it would get another prototype).
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

// By level, not by recursion: the depth is what is doubted.
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
