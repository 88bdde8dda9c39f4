// Power cuts by recorded writes: chaos/power.

import { installStrace } from '../../../servers/install.ts'
import { cutPower } from '../../power/power-cuts.ts'
import type { ScenarioContext, ScenarioResult } from './scenario.ts'

export async function run({ driver, seed, seconds, directory }: ScenarioContext): Promise<ScenarioResult> {
  if (!installStrace()) return { faults: 0, violations: [], skipped: 'strace is not installed' }
  const wanted = driver === 'redis' ? Math.max(5, seconds) : Math.max(10, 2 * seconds)
  const { cuts, jobs, violations } = await cutPower({ driver, seed, cuts: wanted, jobs: 40 }, directory)
  return { faults: cuts, violations, note: `${jobs} acknowledged jobs over all images` }
}
