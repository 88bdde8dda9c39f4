// Finds holdfast.config.ts and loads it.

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { invalidArgument } from '../errors.ts'
import { type HoldfastConfig, resolveConfig } from './config.ts'
import { cannotLoad, importDefault } from './import-file.ts'
import { shortened, UsageError } from './usage-error.ts'

const fileNames = ['holdfast.config.ts', 'holdfast.config.js', 'holdfast.config.mjs']

/** @param given of --config @returns undefined if there is no file of the usual names @throws UsageError */
export async function loadConfig(given: string | undefined, cwd: string): Promise<HoldfastConfig | undefined> {
  const path = given === undefined ? fileNames.map((name) => resolve(cwd, name)).find(existsSync) : resolve(cwd, given)
  if (path === undefined) return undefined
  if (!existsSync(path)) throw new UsageError(`--config: there is no file ${shortened(path)}. Check the path.`)
  const exported = await configOf(path, await importDefault(path))
  if (exported === undefined) {
    throw new UsageError(`${path} has no default export. Write: export default defineConfig({ storage, workers })`)
  }
  if (exported === null || typeof exported !== 'object') throw invalidArgument(path, 'a configuration', exported)
  resolveConfig(exported as HoldfastConfig)
  return exported as HoldfastConfig
}

/** A function returns the configuration, or a promise of it. */
async function configOf(path: string, exported: unknown): Promise<unknown> {
  if (typeof exported !== 'function') return exported
  try {
    return await (exported as () => unknown)()
  } catch (thrown) {
    throw cannotLoad(path, thrown)
  }
}
