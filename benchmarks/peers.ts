// The peers have their own lock file and are installed on the first run with --peers.

import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { fileURLToPath } from 'node:url'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** @throws if npm fails */
export function installPeers(): void {
  if (changedAt('node_modules/.package-lock.json') >= changedAt('package-lock.json')) return
  console.error('Installing the peers: npm ci in benchmarks/ …')
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: here('.'),
    // Its output is progress; only results go to stdout.
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (status !== 0) throw new Error('peers: npm ci in benchmarks/ failed. See its output above.')
}

export function versionOf(packageName: string): string {
  const path = findPackageJSON(packageName, import.meta.url)
  return path ? (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version : 'not installed'
}

/** The time of the last change; -Infinity if the file does not exist. */
function changedAt(path: string): number {
  return statSync(here(path), { throwIfNoEntry: false })?.mtimeMs ?? -Infinity
}
