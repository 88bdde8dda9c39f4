// Installs Debian packages of servers, without the services that come with them: the tests start servers of their own, and
// leave the default ports alone.

import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const policyFile = '/usr/sbin/policy-rc.d'
const clusterFolder = '/etc/postgresql-common/createcluster.d'

/** Root on a Debian. */
export function mayInstall(): boolean {
  if (process.getuid?.() !== 0) return false
  try {
    execFileSync('apt-get', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    // Not a Debian.
    return false
  }
}

export function install(...packages: readonly string[]): void {
  console.log(`installing with apt-get: ${packages.join(', ')}`)
  // Debian starts what it installs, unless this file says no.
  withFile(policyFile, '#!/bin/sh\nexit 101\n', () => {
    // And makes a Postgres cluster, which would come up with the next boot.
    mkdirSync(clusterFolder, { recursive: true })
    withFile(join(clusterFolder, 'holdfast.conf'), 'create_main_cluster = false\n', () => {
      aptGet('update')
      aptGet('install', '-y', '--no-install-recommends', ...packages)
    })
  })
}

function aptGet(...args: readonly string[]): void {
  execFileSync('apt-get', ['-q', '-o', 'DPkg::Lock::Timeout=120', ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
}

/** With the file in place; one that is there already says what the machine wants, as in containers. */
function withFile(path: string, content: string, work: () => void): void {
  try {
    writeFileSync(path, content, { flag: 'wx', mode: 0o755 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return work()
  }
  try {
    work()
  } finally {
    rmSync(path)
  }
}
