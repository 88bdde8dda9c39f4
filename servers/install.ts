// Sees to it that the servers the tests need are on this machine. Where they are, this costs a few milliseconds.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { install, mayInstall } from './apt.ts'
import { findPgbouncer, findPostgres, findRedis } from './find.ts'

/** Older ones lack what servers/cluster.ts uses: a bus port of one's own, ranges of slots. */
const oldestRedis = 7
/** The oldest that is still maintained. */
const oldestPostgres = 14

/** The path of redis-server, which is installed first if it is missing and may be. @throws Error that says what to do */
export function installRedis(): string {
  const found = findRedis()
  if (found) return checkVersion(found, /v=(\d+)\./, oldestRedis)
  const folder = process.env.HOLDFAST_REDIS_BIN
  if (folder) throw new Error(`HOLDFAST_REDIS_BIN: expected the folder of redis-server, got "${folder}"`)
  if (!mayInstall()) {
    throw new Error(
      `The tests need redis-server ${oldestRedis} or newer: install it (Debian: \`apt-get install redis-server\` as root, macOS: ` +
        '`brew install redis`), or set HOLDFAST_REDIS_BIN to the folder it is in.',
    )
  }
  install('redis-server')
  const installed = findRedis()
  if (!installed) throw new Error('apt-get installed redis-server, but it is not on the PATH.')
  return checkVersion(installed, /v=(\d+)\./, oldestRedis)
}

/** The folder of Postgres, which is installed first if it is missing and may be. @throws Error that says what to do */
export function installPostgres(): string {
  const found = findPostgres()
  if (found) return checkPostgres(found)
  const folder = process.env.POSTGRES_BIN
  if (folder) throw new Error(`POSTGRES_BIN: expected the folder of initdb and postgres, got "${folder}"`)
  if (!mayInstall()) {
    throw new Error(
      `The tests need Postgres ${oldestPostgres} or newer: install it (Debian: \`apt-get install postgresql\` as root, macOS: ` +
        '`brew install postgresql`), or set POSTGRES_BIN to the folder that initdb is in.',
    )
  }
  install('postgresql')
  const installed = findPostgres()
  if (!installed) throw new Error('apt-get installed postgresql, but initdb is not where Debian puts it.')
  return checkPostgres(installed)
}

/** The path of pgbouncer, if it is there or may be installed. Without it its tests are skipped, and say so. */
export function installPgbouncer(): string | undefined {
  const found = findPgbouncer()
  if (found || !mayInstall()) return found
  try {
    install('pgbouncer')
  } catch (error) {
    // No network, say: not a reason to run no test at all.
    console.error(`pgbouncer was not installed: ${(error as Error).message}`)
  }
  return findPgbouncer()
}

function checkPostgres(folder: string): string {
  checkVersion(join(folder, 'postgres'), /PostgreSQL\) (\d+)/, oldestPostgres)
  return folder
}

function checkVersion(binary: string, pattern: RegExp, oldest: number): string {
  const text = execFileSync(binary, ['--version'], { encoding: 'utf8' })
  const major = Number(pattern.exec(text)?.[1])
  if (major >= oldest) return binary
  throw new Error(`The tests need version ${oldest} or newer; ${binary} is: ${text.trim()}`)
}
