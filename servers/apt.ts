// Installs Debian packages of servers without starting their services: the tests start servers of their own and do not
// use the default ports.

import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const policyFile = '/usr/sbin/policy-rc.d'
const clusterFolder = '/etc/postgresql-common/createcluster.d'

/** Whether this process is root on a Debian system. */
export function mayInstall(): boolean {
  if (process.getuid?.() !== 0) return false
  try {
    execFileSync('apt-get', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    // Not a Debian system.
    return false
  }
}

export function install(...packages: readonly string[]): void {
  console.log(`installing with apt-get: ${packages.join(', ')}`)
  // Debian starts the services it installs unless this file forbids it.
  withFile(policyFile, '#!/bin/sh\nexit 101\n', () => {
    // Debian also creates a Postgres cluster, which would start at the next boot.
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

/** Runs the work with this file in place. An existing file is kept: it states the machine's own policy, as in containers. */
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
