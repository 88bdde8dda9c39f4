// The scenarios by name, each loaded when it is run.

import type { Scenario } from './scenario.ts'

const load = (file: string) => async (): Promise<Scenario> =>
  ((await import(`./${file}.ts`)) as { readonly run: Scenario }).run

export const scenarios = {
  'blocked-loop': load('blocked-loop'),
  'empty-server': load('empty-server'),
  'power-cut': load('power-cut'),
  failover: load('failover'),
  'full-disk': load('full-disk'),
  'full-server-disk': load('full-server-disk'),
  'failed-sync': load('failed-sync'),
  'no-descriptors': load('no-descriptors'),
  backlog: load('backlog'),
  'server-clock': load('server-clock'),
  'far-future': load('far-future'),
  'held-snapshot': load('held-snapshot'),
  'earlier-version': load('earlier-version'),
} as const satisfies Readonly<Record<string, () => Promise<Scenario>>>

export type ScenarioName = keyof typeof scenarios
