// Opens a storage by its url: the only place of the command line that knows the drivers. Each is imported when it is asked for.
// Invariant: no message quotes a url, which may hold a password.

import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Storage } from '../storage/storage.ts'
import { UsageError } from './usage-error.ts'

export interface StoragePlace {
  readonly url: string
  readonly schema?: string | undefined
  readonly prefix?: string | undefined
  /** Of relative paths. */
  readonly cwd: string
  /** Makes a missing file or directory. */
  readonly creates: boolean
}

export const forms = 'sqlite:./jobs.db, file:./jobs, postgres://… or redis://…'

/** @throws UsageError, TypeError INVALID_ARGUMENT */
export async function openStorage({ url, schema, prefix, cwd, creates }: StoragePlace): Promise<Storage> {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):(.*)$/s.exec(url) ?? []
  if (schema !== undefined && !isPostgres(scheme)) throw new UsageError('--schema is for postgres:// only.')
  if (prefix !== undefined && !isRedis(scheme)) throw new UsageError('--prefix is for redis:// only.')
  if (scheme === 'sqlite') {
    const { SqliteStorage } = await import('../storage/sqlite/index.ts')
    return new SqliteStorage({ path: pathOf(rest, cwd, creates, 'file') })
  }
  if (scheme === 'file') {
    const { FileStorage } = await import('../storage/file/index.ts')
    return new FileStorage({ directory: pathOf(rest, cwd, creates, 'directory') })
  }
  if (isPostgres(scheme)) {
    const { PostgresStorage } = await import('../storage/postgres/index.ts')
    // To look at jobs must not change the schema: `holdfast migrate` does.
    return new PostgresStorage({ url, schema, migrate: false, poolSize: 2 })
  }
  if (isRedis(scheme)) {
    const { RedisStorage } = await import('../storage/redis/index.ts')
    return new RedisStorage({ url, prefix })
  }
  if (scheme !== '') throw new UsageError(`--url: expected ${forms}; there is no driver for '${scheme}:'.`)
  throw new UsageError(`--url: expected ${forms}.${meant(url, cwd)}`)
}

/** The name of a file or directory that exists may be quoted: it is no url with a password. */
function meant(url: string, cwd: string): string {
  const path = resolve(cwd, url)
  if (url.includes('\0') || !existsSync(path)) return ''
  return ` Did you mean ${statSync(path).isDirectory() ? 'file' : 'sqlite'}:${url}?`
}

const isPostgres = (scheme: string): boolean => scheme === 'postgres' || scheme === 'postgresql'
const isRedis = (scheme: string): boolean => scheme === 'redis' || scheme === 'rediss'

function pathOf(rest: string, cwd: string, creates: boolean, what: 'file' | 'directory'): string {
  const given = rest.replace(/^\/\//, '')
  if (given === '') throw new UsageError('--url: the path is missing, as in sqlite:./jobs.db.')
  if (given.includes('\0')) throw new UsageError('--url: the path has a character that no path can have.')
  if (given === ':memory:') throw new UsageError('--url: a storage in memory has no jobs that a command could see.')
  const path = resolve(cwd, given)
  if (!creates && !existsSync(path)) {
    const makers = 'A worker, holdfast enqueue and holdfast migrate make a new one.'
    throw new UsageError(`--url: there is no ${what} ${path}. Check the path. ${makers}`)
  }
  return path
}
