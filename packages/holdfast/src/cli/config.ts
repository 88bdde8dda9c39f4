// holdfast.config.ts: the storage that commands look at, and the workers that `holdfast work` runs.

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { asError } from '../error-details.ts'
import type { Health } from '../engine/health.ts'
import { sharedOptions } from '../engine/options.ts'
import { invalidArgument } from '../errors.ts'
import { hasMethods, integer, isList, nonNegative, text } from '../option-checks.ts'
import { resolveOptions, type Table } from '../resolve-options.ts'
import type { Storage } from '../storage/storage.ts'
import { shortened, UsageError } from './usage-error.ts'

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
  /** What `holdfast work` runs. @default none */
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

const fileNames = ['holdfast.config.ts', 'holdfast.config.js', 'holdfast.config.mjs']

/** @param given of --config @returns undefined if there is no file of the usual names @throws UsageError */
export async function loadConfig(given: string | undefined, cwd: string): Promise<HoldfastConfig | undefined> {
  const path = given === undefined ? fileNames.map((name) => resolve(cwd, name)).find(existsSync) : resolve(cwd, given)
  if (path === undefined) return undefined
  if (!existsSync(path)) throw new UsageError(`--config: there is no file '${shortened(given!)}'.`)
  let exported: unknown
  try {
    const module = (await import(pathToFileURL(path).href)) as { readonly default?: unknown }
    exported = typeof module.default === 'function' ? await (module.default as () => unknown)() : module.default
  } catch (thrown) {
    throw new UsageError(`${path} cannot be loaded: ${asError(thrown).message}`, { cause: thrown })
  }
  if (exported === undefined) {
    throw new UsageError(`${path} has no default export. Write: export default defineConfig({ storage, workers })`)
  }
  if (exported === null || typeof exported !== 'object') throw invalidArgument(path, 'a configuration', exported)
  resolveConfig(exported as HoldfastConfig)
  return exported as HoldfastConfig
}
