// Sees to it that the servers the tests need are on this machine. Where they are, this costs a few milliseconds.

import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { findRedis } from './find.ts'

/** Older ones lack what servers/cluster.ts uses: a bus port of one's own, ranges of slots. */
const oldestRedis = 7
const policyFile = '/usr/sbin/policy-rc.d'

/** The path of redis-server, which is installed first if it is missing and may be. @throws Error that says what to do */
export function installRedis(): string {
  const found = findRedis()
  if (found) return checkVersion(found)
  const folder = process.env.HOLDFAST_REDIS_BIN
  if (folder) throw new Error(`HOLDFAST_REDIS_BIN: expected the folder of redis-server, got "${folder}"`)
  if (process.getuid?.() !== 0 || !hasAptGet()) {
    throw new Error(
      `The tests need redis-server ${oldestRedis} or newer: install it (Debian: \`apt-get install redis-server\` as root, macOS: ` +
        '`brew install redis`), or set HOLDFAST_REDIS_BIN to the folder it is in.',
    )
  }
  console.log('redis-server is missing: installing it with apt-get')
  withoutServices(() => {
    aptGet('update')
    aptGet('install', '-y', '--no-install-recommends', 'redis-server')
  })
  const installed = findRedis()
  if (!installed) throw new Error('apt-get installed redis-server, but it is not on the PATH.')
  return checkVersion(installed)
}

function checkVersion(binary: string): string {
  const text = execFileSync(binary, ['--version'], { encoding: 'utf8' })
  const major = Number(/v=(\d+)\./.exec(text)?.[1])
  if (major >= oldestRedis) return binary
  throw new Error(`The tests need redis-server ${oldestRedis} or newer; ${binary} is: ${text.trim()}`)
}

function hasAptGet(): boolean {
  try {
    execFileSync('apt-get', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    // Not a Debian.
    return false
  }
}

function aptGet(...args: readonly string[]): void {
  execFileSync('apt-get', ['-q', '-o', 'DPkg::Lock::Timeout=120', ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
}

/** Debian starts what it installs, unless this file says no. The tests start servers of their own and leave port 6379 alone. */
function withoutServices(work: () => void): void {
  try {
    writeFileSync(policyFile, '#!/bin/sh\nexit 101\n', { flag: 'wx', mode: 0o755 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    // The machine has a policy of its own, as containers do.
    return work()
  }
  try {
    work()
  } finally {
    rmSync(policyFile)
  }
}
