// Where the server programs are: named by the environment, else on the PATH. No server is started here.

import { execFileSync } from 'node:child_process'
import { accessSync, constants, readdirSync, statSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'

type Environment = Readonly<Record<string, string | undefined>>

/** `HOLDFAST_REDIS_BIN` is the folder with the binaries; when it is set, the PATH is not asked. */
export function findRedis(environment: Environment = process.env): string | undefined {
  const folder = environment.HOLDFAST_REDIS_BIN
  return findIn(folder ? [folder] : onPath(environment), 'redis-server')
}

/** `VALKEY_SERVER` is the path of the binary. Without it there is none: what needs Valkey is skipped, and says so. */
export function findValkey(environment: Environment = process.env): string | undefined {
  const binary = environment.VALKEY_SERVER
  if (!binary) return undefined
  if (!isProgram(binary)) throw new Error(`VALKEY_SERVER: expected the path of valkey-server, got "${binary}"`)
  return resolve(binary)
}

/**
 * The folder with `initdb` and `postgres`, which Debian keeps off the PATH. `POSTGRES_BIN` is that folder; when it is set,
 * nothing else is asked.
 * @param versions where Debian has a folder for each version
 */
export function findPostgres(
  environment: Environment = process.env,
  versions = '/usr/lib/postgresql',
): string | undefined {
  const named = environment.POSTGRES_BIN
  const folders = named ? [named] : [...configured(environment), ...newestFirst(versions), ...onPath(environment)]
  const found = folders.find(hasPostgres)
  return found && resolve(found)
}

/** `PGBOUNCER` is the path of the binary; else it is on the PATH, or where Debian puts it, which is not on everybody's. */
export function findPgbouncer(environment: Environment = process.env): string | undefined {
  const binary = environment.PGBOUNCER
  if (!binary) return findIn([...onPath(environment), '/usr/sbin'], 'pgbouncer')
  if (!isProgram(binary)) throw new Error(`PGBOUNCER: expected the path of pgbouncer, got "${binary}"`)
  return resolve(binary)
}

const hasPostgres = (folder: string): boolean =>
  ['initdb', 'postgres'].every((program) => isProgram(join(folder, program)))

/** What pg_config says, where there is one. */
function configured(environment: Environment): string[] {
  const program = findIn(onPath(environment), 'pg_config')
  try {
    return program ? [execFileSync(program, ['--bindir'], { encoding: 'utf8' }).trim()] : []
  } catch {
    // One that cannot say it is as good as none.
    return []
  }
}

function newestFirst(versions: string): string[] {
  try {
    return readdirSync(versions)
      .toSorted((a, b) => Number(b) - Number(a))
      .map((version) => join(versions, version, 'bin'))
  } catch {
    // Not a Debian, or no Postgres on it.
    return []
  }
}

const onPath = (environment: Environment): string[] =>
  (environment.PATH ?? '').split(delimiter).filter((entry) => entry !== '')

const findIn = (folders: readonly string[], program: string): string | undefined =>
  folders.map((folder) => resolve(join(folder, program))).find(isProgram)

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    // Absent, or not ours to run: for the search these are the same.
    return false
  }
}
