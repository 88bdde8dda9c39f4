// The options of @holdfast/federation, as sections of the page: that package resolves its options by code of its own.

import { aliases } from '../../packages/federation/src/aliases.ts'
import { optionNames } from '../../packages/federation/src/create.ts'
import { hardenedPolicies } from '../../packages/federation/src/policies.ts'
import type { Table } from '../../packages/holdfast/src/resolve-options.ts'
import type { Section } from './sections.ts'

const check = (): void => {}

/** Rows by name, with the aliases of that place. @param values of the defaults: those that are numbers or booleans are shown */
function tableOf(names: readonly string[], place: string, values: Readonly<Record<string, unknown>> = {}): Table {
  const byPlace: Readonly<Record<string, Readonly<Record<string, string>>>> = aliases
  const others = Object.entries(byPlace[place] ?? {}).map(([alias, word]) => [alias, { alias: word, check }] as const)
  return Object.fromEntries([...names.map((name) => [name, rowOf(values[name])] as const), ...others])
}

/** A default that is no literal is worded in the TSDoc. */
const rowOf = (value: unknown) =>
  typeof value === 'number' || typeof value === 'boolean' ? { default: value, check } : { check }

const groups = Object.entries(hardenedPolicies).filter(
  ([name, value]) => name !== 'threats' && typeof value === 'object' && !Array.isArray(value),
)

export const federationSections: readonly Section[] = [
  {
    face: 'Federation',
    title: '`createFederation(options)`',
    table: tableOf(optionNames, 'createFederation'),
    types: ['federation/src/create.ts#FederationOptions'],
  },
  {
    face: 'Federation',
    title: '`federation.stop(options)`, `workers.stop(options)`',
    table: tableOf(['graceMs'], 'stop'),
    types: ['federation/src/life-cycle.ts#StopOptions'],
  },
  {
    face: 'Federation',
    title: '`policies.methods`',
    table: tableOf(['methods'], 'policies'),
    types: ['federation/src/policies.ts#Policies'],
  },
  ...groups.map(([name, value]): Section => ({
    face: 'Federation',
    title: `\`policies.${name}\``,
    table: tableOf(Object.keys(value as object), `policies.${name}`, value as Record<string, unknown>),
    types: [`federation/src/policies.ts#Policies.${name}`],
  })),
]
