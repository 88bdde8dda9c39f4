// The policies that are given, over the table of defaults.

import { type Policies, seedPolicies } from './policies.ts'

type Given<T> = { readonly [K in keyof T]?: T[K] extends readonly unknown[] ? T[K] : Partial<T[K]> }

/** Group by group; of `threats`, reason by reason. */
export type PolicyOptions = Given<Omit<Policies, 'threats'>> & {
  readonly threats?: { readonly [R in keyof Policies['threats']]?: Partial<Policies['threats'][R]> }
}

/** @throws TypeError INVALID_ARGUMENT */
export function resolvePolicies(given: PolicyOptions = {}): Policies {
  return merged('policies', seedPolicies, given) as unknown as Policies
}

function merged(where: string, defaults: object, given: unknown): object {
  if (given === null || typeof given !== 'object' || Array.isArray(given)) throw invalid(where, 'an object')
  const result: Record<string, unknown> = { ...defaults }
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined) continue
    if (!Object.hasOwn(defaults, key)) throw invalid(`${where}.${key}`, `one of ${Object.keys(defaults).join(', ')}`)
    const standing = (defaults as Record<string, unknown>)[key]
    result[key] = isGroup(key, standing)
      ? merged(`${where}.${key}`, standing, value)
      : checked(`${where}.${key}`, standing, value)
  }
  return result
}

/** A backoff is given whole. */
const isGroup = (key: string, value: unknown): value is object =>
  key !== 'backoff' && value !== null && typeof value === 'object' && !Array.isArray(value)

function checked(where: string, standing: unknown, value: unknown): unknown {
  if (Array.isArray(standing)) {
    if (!Array.isArray(value) || !value.every((item) => typeof item === 'string'))
      throw invalid(where, 'an array of strings')
  } else if (typeof standing === 'number') {
    if (!Number.isInteger(value) || (value as number) < 0) throw invalid(where, 'an integer >= 0')
  } else if (typeof standing !== 'object' && typeof value !== typeof standing)
    throw invalid(where, `a ${typeof standing}`)
  return value
}

function invalid(name: string, expected: string): TypeError {
  return Object.assign(new TypeError(`${name}: expected ${expected}`), { code: 'INVALID_ARGUMENT' })
}
