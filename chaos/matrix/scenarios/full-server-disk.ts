// The disk of a server fills up, in a mount namespace of its own: see full-server-disk-child.ts.

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { ScenarioContext, ScenarioResult } from './scenario.ts'

export async function run({ driver, directory }: ScenarioContext): Promise<ScenarioResult> {
  if (process.getuid?.() !== 0)
    return { faults: 0, violations: [], skipped: 'needs root, to mount a small file system' }
  const program = fileURLToPath(new URL('full-server-disk-child.ts', import.meta.url))
  const node = [
    process.execPath,
    '--conditions=@holdfast/source',
    '--no-warnings',
    program,
    JSON.stringify({ driver, directory }),
  ]
  const child = spawn('unshare', ['-m', '--', ...node], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 240_000,
    killSignal: 'SIGKILL',
  })
  let [output, problems] = ['', '']
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (problems += chunk))
  const code = await new Promise((resolve) => child.on('close', resolve))
  if (code !== 0)
    return { faults: 1, violations: [`the process ended with ${String(code)}: ${problems.trim().slice(-500)}`] }
  return JSON.parse(output) as ScenarioResult
}
