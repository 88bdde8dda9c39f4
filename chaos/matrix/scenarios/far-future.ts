// Times that do not fit a timer of 31 bits, or that other systems stumble over: stored exactly, never early, and the worker goes on.

import { Queue } from 'holdfast'
import { sleep } from '../../child.ts'
import { openPlace } from '../open-place.ts'
import { eventually } from '../workload.ts'
import type { ScenarioContext, ScenarioResult } from './scenario.ts'

export async function run({ driver, directory }: ScenarioContext): Promise<ScenarioResult> {
  const times: Readonly<Record<string, number>> = {
    'beyond 2^31 ms': Date.now() + 2 ** 31 + 60_000,
    'beyond 2^32 ms': Date.now() + 2 ** 32 + 60_000,
    '2038-01-19': Date.UTC(2038, 0, 19, 3, 14, 8),
    '29 February': Date.UTC(2096, 1, 29),
    'end of 9999': Date.UTC(9999, 11, 31, 23, 59, 59),
  }
  const violations: string[] = []
  const warned = (warning: Error): void => void violations.push(`the process was warned: ${warning.name}`)
  process.on('warning', warned)
  const place = await openPlace(driver, directory)
  const queue = new Queue<string, string>({ storage: await place.open(), name: 'matrix' })
  const ran: string[] = []
  queue.on('error', (error) => void violations.push(error.message))
  queue.execute((job) => {
    ran.push(job.id)
    return ''
  })
  await queue.start()
  for (const [id, runAt] of Object.entries(times)) await queue.enqueue(id, id, { runAt: new Date(runAt) })
  await sleep(300)
  for (const [id, runAt] of Object.entries(times)) {
    const job = await queue.get(id)
    if (Number(job?.runAt) !== runAt) violations.push(`${id}: due ${String(job?.runAt)}, asked for ${runAt}`)
  }
  await queue.enqueue('now', 'now')
  if (!(await eventually(10_000, async () => ran.includes('now')))) violations.push('a job that is due does not run')
  if (ran.length > 1) violations.push(`early: ${ran.join(', ')}`)
  await queue.stop()
  await place.stop()
  process.off('warning', warned)
  return { faults: Object.keys(times).length, violations }
}
