// The command line as a process of its own.

import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Ran } from './test-host.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

/** Its arguments for `node`. */
const nodeArgs: readonly string[] = ['--conditions=@holdfast/source', main]

export function spawnCli(
  args: readonly string[],
  cwd?: string,
): { readonly child: ChildProcess; readonly ended: Promise<Ran>; out(): string } {
  const { DATABASE_URL: _, HOLDFAST_URL: __, ...env } = process.env
  const child = spawn(process.execPath, [...nodeArgs, ...args], { env, ...(cwd !== undefined && { cwd }) })
  let [out, errors] = ['', '']
  child.stdout.on('data', (chunk) => (out += chunk))
  child.stderr.on('data', (chunk) => (errors += chunk))
  const ended = new Promise<Ran>((resolve) =>
    // A process that a signal ended has no code.
    child.on('close', (code, signal) =>
      resolve({ code: code ?? -1, out, errors: signal ? `${errors}${signal}` : errors }),
    ),
  )
  return { child, ended, out: () => out }
}

/** Its output and exit code. */
export const holdfast = (...args: readonly string[]): Promise<Ran> => spawnCli(args).ended
