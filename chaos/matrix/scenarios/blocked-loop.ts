// A worker whose event loop is blocked for longer than its lease, in a thread of its own: another worker takes its job, and what it says
// afterwards changes nothing.

import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { openPlace } from '../open-place.ts'
import { eventually, Workload } from '../workload.ts'
import type { ScenarioContext, ScenarioResult } from './scenario.ts'

const leaseMs = 500

export async function run({ driver, directory, seconds }: ScenarioContext): Promise<ScenarioResult> {
  const place = await openPlace(driver, directory)
  const workload = new Workload({ open: place.open, leaseMs })
  await workload.start()
  const counts = { blocked: 0, completed: 0 }
  const thread = new Worker(fileURLToPath(new URL('blocked-loop-thread.ts', import.meta.url)), {
    workerData: { driver, directory, url: place.url, leaseMs, blockMs: 3 * leaseMs },
    execArgv: ['--conditions=@holdfast/source', '--no-warnings'],
  })
  const told = new Set<string>()
  const problems: string[] = []
  thread.on('message', ({ what, id }: { what: keyof typeof counts; id: string }) => {
    counts[what]++
    if (what === 'completed') told.add(id)
  })
  thread.on('error', (error) => void problems.push(`the thread ended: ${(error as Error).message}`))
  const rounds = Math.max(3, Math.floor(seconds / 2))
  await eventually(20_000 + rounds * 6 * leaseMs, async () => counts.blocked >= rounds || problems.length > 0)
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  thread.postMessage('end')
  await eventually(10_000, async () => thread.threadId === -1)
  const { wrong } = await workload.end()
  await thread.terminate()
  await place.stop()
  const twice = [...told]
    .filter((id) => workload.wasTold(id))
    .map((id) => `doubleRecorded: ${id}, by the thread and another`)
  if (counts.blocked === 0) problems.push('the thread got no job')
  return {
    faults: counts.blocked,
    violations: [...problems, ...wrong, ...twice],
    note: `${counts.completed} of these jobs were recorded by the blocked worker, the others by another one`,
  }
}
