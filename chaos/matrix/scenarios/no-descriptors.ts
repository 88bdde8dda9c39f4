// No file descriptor is left, for a while: calls are refused with a StorageError, and work again without a restart.

import { execFileSync } from 'node:child_process'
import { runUnder } from './run-under.ts'
import type { ScenarioContext, ScenarioResult } from './scenario.ts'

export async function run({ driver, directory }: ScenarioContext): Promise<ScenarioResult> {
  try {
    execFileSync('prlimit', ['--version'], { stdio: 'ignore' })
  } catch {
    return { faults: 0, violations: [], skipped: 'prlimit is not installed' }
  }
  return runUnder<ScenarioResult>(['prlimit', '--nofile=256:256'], 'no-descriptors-child.ts', {
    driver,
    directory,
  }).catch((error: Error) => ({ faults: 1, violations: [error.message] }))
}
