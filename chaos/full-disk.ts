// Runs the full-disk test in its own mount namespace, so that its small file system is gone when the test ends.

import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Flags } from './flags.ts'
import { type Violation, violation } from './history.ts'

export interface FullDisk {
  /** Why the test was skipped. */
  readonly skipped?: string
  readonly acked?: number
  /** The error of the first refused add. */
  readonly refusedWith?: string
  readonly maybeApplied?: boolean
  readonly refusedAfterMs?: number
  readonly completedWhileFull?: number
  readonly violations: readonly Violation[]
}

/** Time limit of the test, in addition to the storage's call timeout. */
const longestMs = 120_000

export async function fillDisk({ driver, seed }: Pick<Flags, 'driver' | 'seed'>, directory: string): Promise<FullDisk> {
  const small = join(directory, 'small')
  mkdirSync(small, { recursive: true })
  const file = fileURLToPath(new URL('full-disk-child.ts', import.meta.url))
  const isRoot = process.getuid?.() === 0
  const child = spawn(
    'unshare',
    [
      isRoot ? '-m' : '-Urm',
      '--',
      process.execPath,
      '--conditions=@holdfast/source',
      '--no-warnings',
      file,
      JSON.stringify({ driver, seed, small }),
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], timeout: longestMs, killSignal: 'SIGKILL' },
  )
  let output = ''
  let problems = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (problems += chunk))
  const { promise, resolve } = Promise.withResolvers<string>()
  child.on('error', (error) => resolve(error.message))
  child.on('close', (code, signal) => resolve(code === 0 ? '' : `ended with ${signal ?? code}: ${problems.trim()}`))
  const failure = await promise
  if (failure === '') return JSON.parse(output) as FullDisk
  if (/^spawn|unshare:/.test(failure) || problems.includes('unshare:')) return { skipped: failure, violations: [] }
  return { violations: [violation('full', failure)] }
}
