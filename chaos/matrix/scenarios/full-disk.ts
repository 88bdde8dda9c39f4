// A storage of files on a file system that fills up.

import { fillDisk } from '../../full-disk.ts'
import type { ScenarioContext, ScenarioResult } from './scenario.ts'

export async function run({ driver, seed, directory }: ScenarioContext): Promise<ScenarioResult> {
  const { skipped, violations, acked, completedWhileFull } = await fillDisk({ driver, seed }, directory)
  return {
    faults: skipped === undefined ? 1 : 0,
    violations: violations.map(({ sentence }) => sentence),
    note: `${acked ?? 0} jobs accepted, ${completedWhileFull ?? 0} completed while it was full`,
    ...(skipped !== undefined && { skipped }),
  }
}
