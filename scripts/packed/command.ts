// Runs a program of a project and gives its output.

import { spawn } from 'node:child_process'
import { closeSync, fstatSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { StepFailure } from './step.ts'

export interface CommandOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Folders that are searched for programs before PATH. */
  readonly path?: readonly string[]
  /** Whether the program must fail. @default false */
  readonly fails?: boolean
  /** In milliseconds. @default 300_000 */
  readonly timeoutMs?: number
}

/** What `npm run` tells the scripts of this repository. A program in another project must not read it. */
const ofThisRepository =
  /^(npm_(package|lifecycle|command|config_local_prefix|config_workspace)|INIT_CWD$|NODE_OPTIONS$)/

/** Bundles have lines of 100 kB, which Node.js prints with an error. */
const longestLine = 300

/**
 * @returns stdout and stderr, in their order
 * @throws StepFailure if the program ends otherwise than expected, with its output
 */
export async function runCommand(program: string, args: readonly string[], options: CommandOptions): Promise<string> {
  const { cwd, fails = false, timeoutMs = 300_000 } = options
  const { end, output } = await spawned(program, args, { cwd, env: environment(options), timeout: timeoutMs })
  const status = String(end)
  if (fails ? /^[1-9]/.test(status) : status === '0') return output
  const short = output.split('\n').map((line) => line.slice(0, longestLine))
  const expected = fails ? 'a failure' : '0'
  throw new StepFailure(
    `$ ${program} ${args.join(' ')}\n${short.join('\n')}\nexit: expected ${expected}, got ${status}`,
  )
}

function environment({ env, path = [] }: CommandOptions): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !ofThisRepository.test(name))
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'))
  const PATH = [...path, dirname(process.execPath), ...folders].join(delimiter)
  return { ...Object.fromEntries(inherited), PATH, NO_COLOR: '1', ...env }
}

/** The output goes through a file: of what a process writes to a pipe while it crashes, the end can be lost. */
async function spawned(
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly timeout: number },
): Promise<{ end: number | NodeJS.Signals | null; output: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-packed-output-'))
  const file = openSync(join(folder, 'output'), 'a+')
  // It lives as long as it is open, so an interrupted run leaves nothing behind.
  rmSync(folder, { recursive: true })
  try {
    const { promise, resolve, reject } = Promise.withResolvers<number | NodeJS.Signals | null>()
    const child = spawn(program, args, { ...options, stdio: ['ignore', file, file] })
    child.on('error', reject)
    child.on('exit', (status, signal) => resolve(signal ?? status))
    const end = await promise
    const bytes = Buffer.alloc(fstatSync(file).size)
    readSync(file, bytes, 0, bytes.length, 0)
    return { end, output: bytes.toString() }
  } finally {
    closeSync(file)
  }
}
