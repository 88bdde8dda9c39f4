// Aliases of options: names that are accepted at the edge and mapped to the word that all faces share. The guide shows this
// table, and a test compares the two.

import { invalidArgument } from './invalid-argument.ts'

/** Alias and word, by the place where the option is given. */
export const aliases = {
  createFederation: { log: 'logger' },
  'policies.delivery': { attempts: 'maxAttempts' },
  stop: { timeout: 'graceMs' },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>

const byPlace: Readonly<Record<string, Readonly<Record<string, string>>>> = aliases

/**
 * Returns a copy of the given options with every alias under its word. An alias whose value is undefined counts as absent.
 * @param place a key of `aliases`; options of any other place are returned as they are
 * @throws TypeError INVALID_ARGUMENT if both an alias and its word are given
 */
export function resolveAliases(place: string, given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const words = Object.hasOwn(byPlace, place) ? byPlace[place]! : {}
  const resolved: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(given)) {
    const word = Object.hasOwn(words, key) ? words[key]! : key
    if (word !== key && value === undefined) continue
    if (word !== key && given[word] !== undefined) {
      throw invalidArgument(`${place} options`, `either ${word} or its alias ${key}, not both`)
    }
    resolved[word] = value
  }
  return resolved
}
