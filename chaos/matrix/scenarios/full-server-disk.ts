// The disk of a server fills up, in a mount namespace of its own: see full-server-disk-child.ts.

import { runUnder } from './run-under.ts'
import type { ScenarioContext, ScenarioResult } from './scenario.ts'

export async function run({ driver, directory }: ScenarioContext): Promise<ScenarioResult> {
  if (process.getuid?.() !== 0)
    return { faults: 0, violations: [], skipped: 'needs root, to mount a small file system' }
  return runUnder<ScenarioResult>(
    ['unshare', '-m', '--'],
    'full-server-disk-child.ts',
    { driver, directory },
    240_000,
  ).catch((error: Error) => ({ faults: 1, violations: [error.message] }))
}
