// Where the server programs are: named by the environment, else on the PATH. Nothing is started here.

import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'

type Environment = Readonly<Record<string, string | undefined>>

/** `HOLDFAST_REDIS_BIN` is the folder with the binaries; when it is set, the PATH is not asked. */
export function findRedis(environment: Environment = process.env): string | undefined {
  const folder = environment.HOLDFAST_REDIS_BIN
  const folders = folder ? [folder] : (environment.PATH ?? '').split(delimiter).filter((entry) => entry !== '')
  return folders.map((entry) => resolve(join(entry, 'redis-server'))).find(isProgram)
}

/** `VALKEY_SERVER` is the path of the binary. Without it there is none: what needs Valkey is skipped, and says so. */
export function findValkey(environment: Environment = process.env): string | undefined {
  const binary = environment.VALKEY_SERVER
  if (!binary) return undefined
  if (!isProgram(binary)) throw new Error(`VALKEY_SERVER: expected the path of valkey-server, got "${binary}"`)
  return resolve(binary)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    // Absent, or not ours to run: for the search these are the same.
    return false
  }
}
