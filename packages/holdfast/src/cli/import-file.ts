// A file of the user: a configuration, or a function for redrive.

import { pathToFileURL } from 'node:url'
import { asError } from '../error-details.ts'
import { UsageError } from './usage-error.ts'

/** @param path absolute @returns its default export @throws UsageError if it cannot be loaded */
export async function importDefault(path: string): Promise<unknown> {
  const { href } = pathToFileURL(path)
  try {
    return ((await import(/* webpackIgnore: true */ /* @vite-ignore */ href)) as { readonly default?: unknown }).default
  } catch (thrown) {
    throw cannotLoad(path, thrown)
  }
}

export const cannotLoad = (path: string, thrown: unknown): UsageError =>
  new UsageError(`${path} cannot be loaded: ${asError(thrown).message}`, { cause: thrown })
