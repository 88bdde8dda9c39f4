// holdfast.config.ts: the storage that commands look at, and the workers that `holdfast work` runs.

import type { Health } from '../engine/health.ts'
import { sharedOptions } from '../engine/options.ts'
import { hasMethods, integer, isList, nonNegative, text } from '../option-checks.ts'
import { resolveOptions, type Table } from '../resolve-options.ts'
import type { Storage } from '../storage/storage.ts'

/** What `holdfast work` runs: a Queue with a handler, a worker of chains, the tasks of holdfast/tasks, or one of your own. */
export interface ConfiguredWorker {
  /** Resolves when it is ready. */
  start(): Promise<unknown>
  /** Ends it; always resolves. @param options.graceMs how long handlers may go on, in ms */
  stop(options?: { readonly graceMs?: number | undefined }): Promise<unknown>
  health(): Health | Promise<Health>
}

/** The configuration of the command line. */
export interface HoldfastConfig {
  /** Storage that the commands look at. Required. */
  readonly storage: Storage
  /** What `holdfast work` runs. @default [] */
  readonly workers?: readonly ConfiguredWorker[] | undefined
  /** How long handlers may go on when `holdfast work` ends, in ms. @default 30_000 */
  readonly graceMs?: number | undefined
  /** Port of the health checks of `holdfast work`, 0 for any free one. @default none */
  readonly healthPort?: number | undefined
  /** Address that the health checks listen on. @default '127.0.0.1' */
  readonly healthHost?: string | undefined
}

export const configOptions = {
  storage: sharedOptions.storage,
  workers: { default: [], check: isListOfWorkers },
  graceMs: { default: 30_000, check: nonNegative },
  healthPort: { check: integer(0, 65_535) },
  healthHost: { default: '127.0.0.1', check: text(256) },
} as const satisfies Table

/** Declares the configuration: the default export of holdfast.config.ts. @throws TypeError INVALID_ARGUMENT */
export function defineConfig(config: HoldfastConfig): HoldfastConfig {
  resolveConfig(config)
  return config
}

/** With its defaults. @throws TypeError INVALID_ARGUMENT */
export function resolveConfig(config: HoldfastConfig) {
  const resolved = resolveOptions('defineConfig', config, configOptions)
  configOptions.storage.check('storage', resolved.storage)
  return resolved
}

function isListOfWorkers(name: string, value: unknown): void {
  isList(name, value)
  const check = hasMethods('a worker with start(), stop() and health(), such as a Queue', ['start', 'stop', 'health'])
  for (const [index, worker] of (value as unknown[]).entries()) check(`${name}[${index}]`, worker)
}
