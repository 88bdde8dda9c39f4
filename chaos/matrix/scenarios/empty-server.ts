// The server comes back without its data: jobs are gone, as the table of guarantees says, and everything goes on with new ones.

import { isHoldfastError } from 'holdfast'
import { openPlace } from '../open-place.ts'
import { Workload } from '../workload.ts'
import type { ScenarioContext, ScenarioResult } from './scenario.ts'
import { emptyServer } from './emptied.ts'

export async function run({ driver, directory }: ScenarioContext): Promise<ScenarioResult> {
  const place = await openPlace(driver, directory)
  const violations: string[] = []
  const workload = new Workload({ open: place.open })
  await workload.start()
  let faults = 0
  let before: ReadonlySet<string> = new Set()
  for (let round = 0; round < 2; round++) {
    if (!(await workload.goesOn(50, 30_000))) violations.push(`round ${round}: no job was completed for 30 s`)
    const waiting = workload.queue.enqueueAndWait(`wait-${round}`, { number: 0 }, { delayMs: 600_000, timeout: 20_000 })
    const waited = waiting.then(
      () => 'resolved',
      (error: unknown) => (isHoldfastError(error) ? 'ended' : String(error)),
    )
    await new Promise((resolve) => void setTimeout(resolve, 200))
    await emptyServer(place)
    before = new Set(workload.acked)
    faults++
    if (!(await workload.goesOn(20, 30_000)))
      violations.push(`round ${round}: no job was completed within 30 s of its return`)
    const end = await waited
    if (end !== 'ended') violations.push(`a wait for a job that is gone ended with ${end}`)
  }
  const { wrong, lost } = await workload.end({ mayLose: (id) => before.has(id) })
  await place.stop()
  return {
    faults,
    violations: [...violations, ...wrong],
    note: `${lost} of ${before.size} jobs were gone, as expected`,
  }
}
