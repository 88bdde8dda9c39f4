// Resolves policies: the given values over the table of defaults.

import { resolveAliases } from './aliases.ts'
import { invalidArgument } from './invalid-argument.ts'
import { type Policies, policiesOfProfile, type Profile } from './policies.ts'

type Given<T> = { readonly [K in keyof T]?: T[K] extends readonly unknown[] ? T[K] : Partial<T[K]> }

/** Changes to the defaults, by group. In `threats`, by reason. */
export type PolicyOptions = Given<Omit<Policies, 'threats' | 'delivery'>> & {
  readonly delivery?: Partial<Policies['delivery']> & {
    /** Alias of `maxAttempts`. */
    readonly attempts?: number
  }
  readonly threats?: { readonly [R in keyof Policies['threats']]?: Partial<Policies['threats'][R]> }
}

/** @throws TypeError INVALID_ARGUMENT */
export function resolvePolicies(given: PolicyOptions = {}, profile: Profile = 'hardened'): Policies {
  return merge('policies', policiesOfProfile[profile], given) as unknown as Policies
}

function merge(place: string, defaults: object, given: unknown): object {
  if (given === null || typeof given !== 'object' || Array.isArray(given)) throw invalidArgument(place, 'an object')
  const result: Record<string, unknown> = { ...defaults }
  for (const [key, value] of Object.entries(resolveAliases(place, { ...given }))) {
    if (value === undefined) continue
    const name = `${place}.${key}`
    if (!Object.hasOwn(defaults, key)) throw invalidArgument(name, `one of ${Object.keys(defaults).join(', ')}`)
    const standard = (defaults as Record<string, unknown>)[key]
    result[key] = isGroup(key, standard) ? merge(name, standard, value) : check(name, standard, value)
  }
  return result
}

/** A backoff is one value: its fields depend on its type. */
const isGroup = (key: string, value: unknown): value is object =>
  key !== 'backoff' && value !== null && typeof value === 'object' && !Array.isArray(value)

/** A value must have the type of its default. The Queue checks the fields of a backoff. */
function check(name: string, standard: unknown, value: unknown): unknown {
  if (Array.isArray(standard)) {
    if (!Array.isArray(value) || !value.every((item) => typeof item === 'string'))
      throw invalidArgument(name, 'an array of strings')
  } else if (typeof standard === 'number') {
    if (!Number.isInteger(value) || (value as number) < 0) throw invalidArgument(name, 'an integer >= 0')
  } else if (typeof standard !== 'object' && typeof value !== typeof standard)
    throw invalidArgument(name, `a ${typeof standard}`)
  return value
}
