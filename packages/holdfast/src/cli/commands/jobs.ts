import type { JobItem } from '../../engine/operate/job-item.ts'
import { command } from '../command.ts'
import { typeText } from '../find-type.ts'
import { filterOf, filterOptions, stateOption } from '../job-filter.ts'
import { toJson } from '../output.ts'
import { stateStyle } from '../state-style.ts'
import type { Column } from '../table.ts'
import { ageText } from '../time.ts'

export const jobs = command({
  name: 'jobs',
  summary: 'list jobs, a page at a time',
  details: [
    'Without --order, --from and --to the jobs come in the order in which the storage keeps them, which costs the same however many there are.',
  ],
  options: {
    ...filterOptions,
    state: stateOption,
    order: { kind: 'text', values: ['asc', 'desc'], summary: 'by the time of the add' },
    limit: { kind: 'integer', summary: 'jobs of a page, 1 … 1000; default: 50' },
    cursor: { kind: 'text', placeholder: 'cursor', summary: 'the next page: the cursor that this one printed' },
    payload: { kind: 'flag', summary: 'show payloads' },
  },
  examples: [
    { line: 'holdfast jobs --state failed --url sqlite:./jobs.db', does: 'the failed jobs of every type' },
    { line: "holdfast jobs --type mail --where customer=c-42 --where 'total>=100'", does: 'by search fields' },
    { line: 'holdfast jobs --order desc --limit 10', does: 'the ten jobs that were added last' },
  ],
  async run({ admin, options, out, host }) {
    const handle = await admin()
    const { state: states, order, limit, cursor, payload = false } = options
    const filter = await filterOf(handle, options)
    const page = await handle.jobs.list({ ...filter, states, order, limit, cursor, payload })
    if (out.isJson) {
      out.json({ ...page, items: page.items.map((item) => ({ type: typeText(item), ...item })) })
      return 0
    }
    if (page.items.length > 0) out.table(page.items, columnsOf(host.clock.now(), payload))
    else out.line('No job matches.')
    if (page.truncated) out.note('The storage stopped after 100,000 jobs: there may be more.')
    if (page.nextCursor !== undefined) out.note(`More: --cursor ${page.nextCursor}`)
    return 0
  },
})

function columnsOf(now: number, payload: boolean): readonly Column<JobItem>[] {
  return [
    { title: 'ID', of: ({ id }) => id },
    { title: 'TYPE', of: typeText },
    { title: 'STATE', of: ({ state }) => state, style: ({ state }) => stateStyle[state] },
    { title: 'RUNS', kind: 'number', of: attemptsText },
    { title: 'ADDED', of: ({ createdAt }) => ageText(createdAt, now) },
    payload
      ? { title: 'PAYLOAD', of: ({ payload: value, payloadError }) => payloadError ?? toJson(value, 0) }
      : { title: 'DUE, ENDED', of: (item) => whenText(item, now) },
  ]
}

const attemptsText = ({ attempts, maxAttempts }: JobItem): string =>
  maxAttempts === undefined ? String(attempts) : `${attempts}/${maxAttempts}`

const whenText = ({ finishedAt, runAt, reason, state }: JobItem, now: number): string => {
  if (finishedAt !== undefined) return reason ?? ageText(finishedAt, now)
  return state === 'processing' ? '' : ageText(runAt, now)
}
