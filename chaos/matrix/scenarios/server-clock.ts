// The clock of the server jumps an hour ahead, and back, by libfaketime: leases lapse and jobs run again, all fenced; nothing is lost, and
// nothing that was due waits for an hour.

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installFaketime } from '../../../servers/install.ts'
import { sleep } from '../../child.ts'
import { openPlace } from '../open-place.ts'
import { Workload } from '../workload.ts'
import type { ScenarioContext, ScenarioResult } from './scenario.ts'

export async function run({ driver, directory, seconds }: ScenarioContext): Promise<ScenarioResult> {
  const library = installFaketime()
  if (!library || !existsSync(library)) return { faults: 0, violations: [], skipped: 'libfaketime is not installed' }
  const clock = join(directory, 'clock')
  const set = (offset: string): void => writeFileSync(clock, `${offset}\n`, { mode: 0o644 })
  set('+0')
  // The servers of this process, and nothing else of it: they are its next children.
  const added = {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: clock,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  }
  const place = await withEnvironment(added, () => openPlace(driver, directory))
  const workload = new Workload({ open: place.open, leaseMs: 2_000 })
  const violations: string[] = []
  let faults = 0
  await workload.start()
  const jumps = ['+3600', '+0', '-3600', '+0'].slice(0, seconds < 10 ? 2 : 4)
  for (const offset of jumps) {
    if (!(await workload.goesOn(30, 30_000)))
      violations.push(`nothing was completed for 30 s before the jump to ${offset} s`)
    set(offset)
    faults++
    await sleep(500)
    if (!(await workload.goesOn(30, 30_000)))
      violations.push(`nothing was completed for 30 s after the jump to ${offset} s`)
  }
  const { wrong } = await workload.end()
  await place.stop()
  return { faults, violations: [...violations, ...wrong], note: `${workload.acked.size} jobs` }
}

async function withEnvironment<T>(added: Readonly<Record<string, string>>, start: () => Promise<T>): Promise<T> {
  Object.assign(process.env, added)
  try {
    return await start()
  } finally {
    for (const name of Object.keys(added)) delete process.env[name]
  }
}
