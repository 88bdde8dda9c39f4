import type { Admin } from '../../admin/admin.ts'
import type { NamedType } from '../../admin/options.ts'
import type { JobState } from '../../storage/storage.ts'
import { command, type Context } from '../command.ts'
import { findTypes, typeText } from '../find-type.ts'
import { pauseFor } from '../pause-for.ts'
import { stateStyle } from '../state-style.ts'
import { clockText } from '../time.ts'

export const tail = command({
  name: 'tail',
  summary: 'print what happens to jobs, as it happens',
  details: [
    'On Redis and Postgres these are the events of all processes. The other storages have none across processes: there it looks at the 200 jobs that were added last, and prints the states that changed between two looks.',
  ],
  options: {
    type: { kind: 'text', placeholder: 'type', repeat: true, summary: 'only jobs of this type' },
    every: { kind: 'duration', summary: 'time between two looks; default: 1s' },
    limit: { kind: 'integer', summary: 'end after so many lines' },
  },
  examples: [
    { line: 'holdfast tail --limit 1 --url sqlite:./jobs.db', does: 'the next change, and no more' },
    { line: 'holdfast tail --type mail --json', does: 'one JSON object per line' },
  ],
  async run({ admin, storage, options, out, host }) {
    const handle = await admin()
    const types = options.type && (await findTypes(handle, options.type))
    const signal = host.interruption()
    const isFleet = (await storage()).features.fleetEvents === true
    const changes = isFleet ? eventsOf(handle, types, signal) : looks(handle, types, options.every ?? 1_000, host)
    let left = options.limit ?? Infinity
    if (left <= 0) return 0
    for await (const change of changes) {
      print(out, change)
      if (--left <= 0 || signal.aborted) break
    }
    return 0
  },
})

interface Change {
  readonly event: string
  readonly at: number
  readonly type?: string
  readonly id?: string
  readonly attempt?: number
  readonly workerId?: string
}

async function* eventsOf(
  admin: Admin,
  types: readonly NamedType[] | undefined,
  signal: AbortSignal,
): AsyncGenerator<Change> {
  const stream = admin.events({ types, signal })
  await stream.ready
  for await (const { face, name, ...event } of stream) {
    yield face === undefined || name === undefined ? event : { ...event, type: typeText({ face, name }) }
  }
}

/** Jobs that are looked at. */
const lookedAt = 200

/** The states that changed between two looks at the jobs that were added last. */
async function* looks(
  admin: Admin,
  types: readonly NamedType[] | undefined,
  everyMs: number,
  host: Context['host'],
): AsyncGenerator<Change> {
  let before: ReadonlyMap<string, string> | undefined
  do {
    const { items } = await admin.jobs.list({ types, order: 'desc', limit: lookedAt })
    const now = new Map<string, string>()
    const changes: Change[] = []
    for (const item of items.toReversed()) {
      const type = typeText(item)
      const [key, sight] = [JSON.stringify([type, item.id]), `${item.state} ${item.attempts}`]
      now.set(key, sight)
      if (!before || before.get(key) === sight) continue
      const { id, attempts: attempt, workerId } = item
      changes.push({ event: item.state, at: host.clock.now(), type, id, attempt, ...(workerId && { workerId }) })
    }
    before = now
    yield* changes
  } while (await pauseFor(host, everyMs))
}

function print(out: Context['out'], change: Change): void {
  if (out.isJson) return out.json(change, { many: true })
  const { event, at, type, id, attempt, workerId } = change
  const style = stateStyle[event as JobState] ?? 'yellow'
  if (id === undefined) return out.line(clockText(at), '  ', { text: event, style }, '  some events may be missing')
  const run = attempt === undefined || attempt === 0 ? '' : `  run ${attempt}`
  out.line(
    clockText(at),
    '  ',
    { text: event.padEnd(10), style },
    `  ${type} ${id}${run}${workerId === undefined ? '' : ` on ${workerId}`}`,
  )
}
