// Finds the server programs: named by the environment, else on the PATH. Starts no server.

import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync, globSync, readdirSync, statSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'

type Environment = Readonly<Record<string, string | undefined>>

/** The path of redis-server. `HOLDFAST_REDIS_BIN` is the folder of the binaries; if set, the PATH is not searched. */
export function findRedis(environment: Environment = process.env): string | undefined {
  const folder = environment.HOLDFAST_REDIS_BIN
  return findIn(folder ? [folder] : onPath(environment), 'redis-server')
}

/** `VALKEY_SERVER` is the path of the binary. Without it, tests that need Valkey are skipped with that reason. */
export function findValkey(environment: Environment = process.env): string | undefined {
  const binary = environment.VALKEY_SERVER
  if (!binary) return undefined
  if (!isProgram(binary)) throw new Error(`VALKEY_SERVER: expected the path of valkey-server, got "${binary}"`)
  return resolve(binary)
}

/**
 * The folder with `initdb` and `postgres`, which Debian keeps off the PATH. `POSTGRES_BIN` is that folder; when it is set,
 * no other place is searched.
 * @param versions the folder in which Debian has a folder for each version
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

/** `PGBOUNCER` is the path of the binary; else the PATH is searched, and Debian's folder, which is often not on the PATH. */
export function findPgbouncer(environment: Environment = process.env): string | undefined {
  const binary = environment.PGBOUNCER
  if (!binary) return findIn([...onPath(environment), '/usr/sbin'], 'pgbouncer')
  if (!isProgram(binary)) throw new Error(`PGBOUNCER: expected the path of pgbouncer, got "${binary}"`)
  return resolve(binary)
}

/**
 * `CHROMIUM` is the path of the binary; else the PATH is searched. Its headless shell comes first: it is the same engine without a user
 * interface, and the browser tests take 52 s of CPU with it, and 87 s with chromium.
 */
export function findChromium(environment: Environment = process.env): string | undefined {
  const binary = environment.CHROMIUM
  if (!binary) return findHeadlessShell(environment) ?? findIn(onPath(environment), 'chromium')
  if (!isProgram(binary)) throw new Error(`CHROMIUM: expected the path of chromium, got "${binary}"`)
  return resolve(binary)
}

/** The headless shell of chromium on the PATH. */
export function findHeadlessShell(environment: Environment = process.env): string | undefined {
  return findIn(onPath(environment), 'chromium-headless-shell')
}

/** strace, on the PATH: it records the writes of a process (`npm run chaos:power`). */
export function findStrace(environment: Environment = process.env): string | undefined {
  return findIn(onPath(environment), 'strace')
}

/** The library that shows a process another time, where Debian puts it. */
export function findFaketime(folders: readonly string[] = globSync('/usr/lib/*/faketime')): string | undefined {
  return folders.map((folder) => join(folder, 'libfaketime.so.1')).find((path) => existsSync(path))
}

const hasPostgres = (folder: string): boolean =>
  ['initdb', 'postgres'].every((program) => isProgram(join(folder, program)))

/** The folder that pg_config names, if there is one. */
function configured(environment: Environment): string[] {
  const program = findIn(onPath(environment), 'pg_config')
  try {
    return program ? [execFileSync(program, ['--bindir'], { encoding: 'utf8' }).trim()] : []
  } catch {
    // A pg_config that fails counts as none.
    return []
  }
}

function newestFirst(versions: string): string[] {
  try {
    return readdirSync(versions)
      .toSorted((a, b) => Number(b) - Number(a))
      .map((version) => join(versions, version, 'bin'))
  } catch {
    // Not a Debian system, or no Postgres installed.
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
    // Absent or not executable: the search treats both alike.
    return false
  }
}
