// A second checkout of the project at another commit, with the packages that are installed here.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root of this checkout. */
export const here = fileURLToPath(new URL('../../', import.meta.url))

const git = (...args: readonly string[]): string => execFileSync('git', args, { cwd: here, encoding: 'utf8' }).trim()

/** @returns the short name of a commit @throws if there is none */
export function commitOf(name: string): string {
  return git('rev-parse', '--short', '--verify', `${name}^{commit}`)
}

/** @returns the root of the checkout, which stays for the next comparison */
export function checkOut(commit: string): string {
  const root = join(here, 'benchmarks', '.tmp', `commit-${commit}`)
  if (existsSync(join(root, 'node_modules'))) return root
  git('worktree', 'prune')
  git('worktree', 'add', '--force', '--detach', root, commit)
  linkPackages(root)
  return root
}

/** Links to what is installed, except the project's own packages: those are the checkout's. */
function linkPackages(root: string): void {
  const [installed, links] = [join(here, 'node_modules'), join(root, 'node_modules')]
  mkdirSync(links)
  for (const name of readdirSync(installed)) {
    if (name.startsWith('.') || name === 'holdfast' || name === '@holdfast') continue
    symlinkSync(join(installed, name), join(links, name))
  }
  symlinkSync(join(root, 'packages', 'holdfast'), join(links, 'holdfast'))
}
