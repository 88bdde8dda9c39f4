// The fuzzers by name. Those of cursors run on each driver.

import { drivers } from '../drivers.ts'
import type { Target } from './fuzz.ts'
import { commandArguments } from './targets/arguments.ts'
import { configuration } from './targets/config.ts'
import { cron } from './targets/cron.ts'
import { cursorOf } from './targets/cursor.ts'
import { filter } from './targets/filter.ts'
import { stored } from './targets/stored.ts'
import { url } from './targets/url.ts'

/** With the runs of `npm test`. */
export const targets: Readonly<
  Record<string, { readonly open: () => Target | Promise<Target>; readonly runs: number }>
> = {
  cron: { open: cron, runs: 300 },
  cursor: { open: cursorOf(() => drivers.memory!()), runs: 500 },
  'cursor-sqlite': { open: cursorOf(() => drivers.sqlite!()), runs: 300 },
  'cursor-file': { open: cursorOf(() => drivers.file!()), runs: 150 },
  'cursor-redis': { open: cursorOf(() => drivers.redis!()), runs: 150 },
  'cursor-postgres': { open: cursorOf(() => drivers.postgres!()), runs: 100 },
  filter: { open: filter, runs: 500 },
  url: { open: url, runs: 300 },
  config: { open: configuration, runs: 500 },
  arguments: { open: commandArguments, runs: 500 },
  stored: { open: stored, runs: 40 },
}
