import type { WorkerInfo } from '../../engine/work/presence.ts'
import { command } from '../command.ts'
import { typeText } from '../find-type.ts'
import type { Column } from '../table.ts'
import { ageText } from '../time.ts'

export const workers = command({
  name: 'workers',
  summary: 'list the workers that are alive',
  details: [
    'A worker with presenceMs: false is not among them. One that died disappears after 2.5 periods of presenceMs.',
  ],
  examples: [
    { line: 'holdfast workers --url sqlite:./jobs.db', does: 'every worker, the longest running first' },
    { line: 'holdfast workers --json', does: 'the same for programs' },
  ],
  async run({ admin, out, host }) {
    const found = await (await admin()).workers()
    if (out.isJson) out.json({ workers: found })
    else if (found.length === 0) out.line('No worker is alive.')
    else out.table(found, workerColumns(host.clock.now()))
    return 0
  },
})

/** @param running jobs that run, by the label of their worker; without it, what the worker said when it was seen */
export const workerColumns = (
  now: number,
  running?: Readonly<Record<string, number>>,
): readonly Column<WorkerInfo>[] => [
  { title: 'WORKER', of: ({ label }) => label },
  { title: 'HOST', of: ({ host, pid }) => `${host}:${pid}` },
  { title: 'TYPES', of: ({ types }) => types.map(typeText).join(', ') },
  {
    title: 'SLOTS',
    kind: 'number',
    of: ({ label, slotsUsed, concurrency }) => `${running ? runningOf(running, label) : slotsUsed}/${concurrency}`,
  },
  { title: 'DELAY', kind: 'number', of: ({ loopDelayMs }) => `${loopDelayMs} ms` },
  { title: 'SEEN', of: ({ lastSeenAt }) => ageText(Math.min(lastSeenAt, now), now) },
]

const runningOf = (running: Readonly<Record<string, number>>, label: string): number =>
  Object.hasOwn(running, label) ? running[label]! : 0
