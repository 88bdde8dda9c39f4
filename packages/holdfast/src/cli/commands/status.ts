import type { TypeSummary } from '../../engine/operate/type-summary.ts'
import type { WorkerInfo } from '../../engine/work/presence.ts'
import { command } from '../command.ts'
import { counted } from '../../count-text.ts'
import { typeText } from '../find-type.ts'
import type { Column } from '../table.ts'
import { durationText } from '../time.ts'

export const status = command({
  name: 'status',
  summary: 'show the types with their counts',
  details: [
    'WAITING is due or waits for its time, a retry or other jobs. OLDEST is how long the oldest due job has waited.',
  ],
  examples: [
    { line: 'holdfast status --url sqlite:./jobs.db', does: 'every type with its counts' },
    { line: 'holdfast status --json', does: 'the same for programs, with all states' },
  ],
  async run({ admin, storage, out }) {
    const handle = await admin()
    const types = (await handle.types()).toSorted(byName)
    const workers = await handle.workers()
    const { driver } = await storage()
    if (out.isJson) {
      out.json({
        storage: driver,
        types: types.map((type) => ({ type: typeText(type), ...type })),
        workers: workers.length,
      })
      return 0
    }
    if (types.length === 0) out.line(`The storage (${driver}) has no jobs.`)
    else out.table(types, columnsFor(workers))
    out.line()
    out.line(`${counted(types.length, 'type')}, ${counted(workers.length, 'worker')}, ${driver}`)
    return 0
  },
})

const byName = (a: TypeSummary, b: TypeSummary): number => (typeText(a) < typeText(b) ? -1 : 1)

export const waitingOf = ({ states }: TypeSummary): number =>
  states.queued + states.scheduled + states.failing + states.blocked

const columnsFor = (workers: readonly WorkerInfo[]): readonly Column<TypeSummary>[] => [
  { title: 'TYPE', of: typeText },
  { title: 'WAITING', kind: 'number', of: (type) => String(waitingOf(type)) },
  { title: 'DUE', kind: 'number', of: ({ due }) => String(due) },
  { title: 'RUNNING', kind: 'number', of: ({ states }) => String(states.processing) },
  {
    title: 'FAILED',
    kind: 'number',
    of: ({ states }) => String(states.failed),
    style: ({ states }) => (states.failed > 0 ? 'red' : undefined),
  },
  { title: 'COMPLETED', kind: 'number', of: ({ states }) => String(states.completed) },
  { title: 'OLDEST', of: ({ oldestDueMs }) => (oldestDueMs === undefined ? '-' : durationText(oldestDueMs)) },
  { title: 'NOTE', of: (type) => noteOf(type, workers), style: () => 'yellow' },
]

/** What keeps the jobs of a type from running. */
export function noteOf(type: TypeSummary, workers: readonly WorkerInfo[]): string {
  const { paused, pausedGroups, slowedUntil, due } = type
  const isServed = ({ types }: WorkerInfo): boolean =>
    types.some(({ face, name }) => face === type.face && name === type.name)
  if (!paused && due > 0 && !workers.some(isServed)) return 'no worker'
  if (paused) return paused.by === undefined ? 'paused' : `paused by ${paused.by}`
  if (pausedGroups.length > 0) return `${counted(pausedGroups.length, 'group')} paused`
  return slowedUntil === undefined ? '' : 'slowed down'
}
