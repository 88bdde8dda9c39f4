// Runs the program of a scenario under a tool that injects the fault or sets the limit.

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/**
 * Resolves with what the program printed, as JSON. Rejects if it failed.
 * @param tool a command with its arguments; the program follows @param file of the program, in this folder
 */
export async function runUnder<T>(
  [command, ...args]: readonly [string, ...string[]],
  file: string,
  argument: object,
  timeoutMs = 120_000,
): Promise<T> {
  const program = fileURLToPath(new URL(file, import.meta.url))
  const node = [process.execPath, '--conditions=@holdfast/source', '--no-warnings', program, JSON.stringify(argument)]
  const child = spawn(command, [...args, ...node], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  })
  let [output, problems] = ['', '']
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (problems += chunk))
  const code = await new Promise((resolve) => child.on('close', resolve))
  if (code !== 0) throw new Error(`the process ended with ${String(code)}: ${problems.trim().slice(-500)}`)
  return JSON.parse(output) as T
}
