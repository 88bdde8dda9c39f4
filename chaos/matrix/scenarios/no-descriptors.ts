// No file descriptor is left, for a while: calls are refused with a StorageError, and work again without a restart.

import { execFileSync, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { ScenarioContext, ScenarioResult } from './scenario.ts'

export async function run({ driver, directory }: ScenarioContext): Promise<ScenarioResult> {
  try {
    execFileSync('prlimit', ['--version'], { stdio: 'ignore' })
  } catch {
    return { faults: 0, violations: [], skipped: 'prlimit is not installed' }
  }
  const program = fileURLToPath(new URL('no-descriptors-child.ts', import.meta.url))
  const node = [
    process.execPath,
    '--conditions=@holdfast/source',
    '--no-warnings',
    program,
    JSON.stringify({ driver, directory }),
  ]
  const child = spawn('prlimit', ['--nofile=256:256', ...node], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000,
    killSignal: 'SIGKILL',
  })
  let [output, problems] = ['', '']
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (problems += chunk))
  const code = await new Promise((resolve) => child.on('close', resolve))
  if (code !== 0) return { faults: 1, violations: [`the process ended with ${String(code)}: ${problems.trim()}`] }
  return JSON.parse(output) as ScenarioResult
}
