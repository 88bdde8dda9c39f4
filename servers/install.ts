// Installs the servers that the tests need, if they are missing. If they are present, this takes a few milliseconds.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { install, mayInstall } from './apt.ts'
import {
  findChromium,
  findFaketime,
  findHeadlessShell,
  findPgbouncer,
  findPostgres,
  findRedis,
  findStrace,
} from './find.ts'

/** Older versions lack what servers/cluster.ts uses: `cluster-port` and ADDSLOTSRANGE. */
const oldestRedis = 7
/** The oldest version that is still maintained. */
const oldestPostgres = 14

/** The path of redis-server; installs it if it is missing and this process may. @throws Error that says what to do */
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

/** The folder of Postgres; installs it if it is missing and this process may. @throws Error that says what to do */
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

/** The path of pgbouncer, if it is present or can be installed. Without it, its tests are skipped with that reason. */
export function installPgbouncer(): string | undefined {
  return findOrInstall('pgbouncer', findPgbouncer)
}

/** The path of chromium, if it is present or can be installed. Without it, the browser tests are skipped with that reason. */
export function installChromium(): string | undefined {
  if (process.env.CHROMIUM) return findChromium()
  return findOrInstall('chromium-headless-shell', findHeadlessShell) ?? findOrInstall('chromium', findChromium)
}

/** The path of strace, if it is present or can be installed. */
export function installStrace(): string | undefined {
  return findOrInstall('strace', findStrace)
}

/** The path of libfaketime, if it is present or can be installed. */
export function installFaketime(): string | undefined {
  return findOrInstall('faketime', findFaketime)
}

function findOrInstall(name: string, find: () => string | undefined): string | undefined {
  const found = find()
  if (found || !mayInstall()) return found
  try {
    install(name)
  } catch (error) {
    // Without a network, for example, all other tests can still run.
    console.error(`${name}: installation failed: ${(error as Error).message}`)
  }
  return find()
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
