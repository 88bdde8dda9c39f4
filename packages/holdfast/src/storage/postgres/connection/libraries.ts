// Imports pg and postgres.js on demand. Both are optional peers, and an app has one of them installed.
//
// The specifier is a parameter and not a literal, and the comments are for bundlers: esbuild, webpack, Rollup and Vite leave such an
// import alone. A literal `import('postgres')` makes a bundle fail or warn where only pg is installed. A constant does not do:
// esbuild inlines it when it minifies. So a bundle does not contain the client: it is resolved at run time.

import { HoldfastError } from '../../../errors.ts'
import type { NewSql, PgLibrary } from './client.ts'

/** How to import the libraries; tests replace it. */
export interface Libraries {
  pg(): Promise<unknown>
  postgres(): Promise<unknown>
}

const importPackage = (name: string): Promise<unknown> => import(/* webpackIgnore: true */ /* @vite-ignore */ name)

const installed: Libraries = { pg: () => importPackage('pg'), postgres: () => importPackage('postgres') }

/** Resolves with undefined if pg is not installed. */
export async function loadPg(libraries = installed): Promise<PgLibrary | undefined> {
  const loaded = await unlessMissing(libraries.pg)
  return (loaded as { default: PgLibrary } | undefined)?.default
}

/** Resolves with undefined if postgres.js is not installed. */
export async function loadPostgresJs(libraries = installed): Promise<NewSql | undefined> {
  const loaded = await unlessMissing(libraries.postgres)
  return (loaded as { default: NewSql } | undefined)?.default
}

async function unlessMissing(load: () => Promise<unknown>): Promise<unknown> {
  try {
    return await load()
  } catch (error) {
    // The second code is that of runtimes that compile import() to require().
    const { code } = error as { code?: unknown }
    if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}

/** For an app that gave a `url`, and has neither library. */
export const missingClient = (): HoldfastError =>
  new HoldfastError(
    'MISSING_DEPENDENCY',
    'PostgresStorage: no Postgres client is installed. Run npm install pg (or postgres), or pass a Pool of pg as `client`.',
    { package: 'pg' },
  )

/** For an app that gave a Sql of postgres.js, of which the package cannot be imported: it was bundled, maybe. */
export const missingPostgresJs = (): HoldfastError =>
  new HoldfastError(
    'MISSING_DEPENDENCY',
    'PostgresStorage: the package postgres cannot be imported. A storage opens connections of its own with it, with the settings of `client`. Run npm install postgres, and keep it out of bundles (external).',
    { package: 'postgres' },
  )
