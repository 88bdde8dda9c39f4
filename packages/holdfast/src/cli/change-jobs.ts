// The commands that change jobs: one by one by their ids, or all that match a filter, with the same answers.

import type { Admin, AdminJobFilter } from '../admin/admin.ts'
import type { BulkAction, BulkOptions, BulkResult } from '../engine/operate/bulk-action.ts'
import type { JobDetails } from '../engine/operate/job-details.ts'
import type { JobState } from '../storage/storage.ts'
import type { Context, OptionSpec } from './command.ts'
import { confirm } from './confirm.ts'
import { counted } from '../count-text.ts'
import { findJob } from './find-job.ts'
import { typeText } from './find-type.ts'
import { filterOf, filterOptions, isFiltered, stateOption } from './job-filter.ts'
import { UsageError } from './usage-error.ts'

export const changeArguments = [
  {
    name: 'id',
    summary: 'ids of jobs; without them, --all and the filters select the jobs',
    optional: true,
    many: true,
  },
] as const

export const changeOptions = {
  all: { kind: 'flag', summary: 'all jobs that match the filters' },
  ...filterOptions,
  state: stateOption,
  'per-second': { kind: 'number', summary: 'with --all: most jobs per second' },
} as const satisfies Readonly<Record<string, OptionSpec>>

type ChangeContext = Context<typeof changeArguments, typeof changeOptions>

/** A change of all jobs that match. */
interface BulkChange {
  /** Such as `Retry`. */
  readonly verb: string
  /** States of the jobs that it changes, if no others are asked for. */
  readonly states: readonly JobState[]
  /** The command changes jobs by filter alone. */
  readonly takesNoIds?: boolean
  many(admin: Admin, filter: AdminJobFilter, options: BulkOptions): BulkAction
}

interface Change extends BulkChange {
  /** The statuses of a job that was changed. */
  readonly done: readonly string[]
  /** Whether it asks for single jobs too. */
  readonly asksAlways: boolean
  one(admin: Admin, job: JobDetails): Promise<{ readonly status: string }>
}

/** @returns the exit code: 1 if a job was not changed */
export async function changeJobs(context: ChangeContext, change: Change): Promise<number> {
  const { args, options } = context
  if (args.id.length === 0) return changeAll(context, change)
  if (options.all) throw new UsageError('both ids and --all are given. Pass one of them.')
  for (const name of ['group', 'where', 'from', 'to', 'state', 'per-second'] as const) {
    if (options[name] !== undefined) throw new UsageError(`--${name} is for --all, not for ids.`)
  }
  return changeEach(context, change)
}

async function changeEach(context: ChangeContext, change: Change): Promise<number> {
  const { args, options, out } = context
  const admin = await context.admin()
  if (options.type && options.type.length > 1) throw new UsageError('--type is given twice.')
  // All of them are found before the first is changed.
  const jobs: (readonly [id: string, job: JobDetails | undefined])[] = []
  for (const id of args.id) jobs.push([id, await findJob(admin, id, options.type?.[0])])
  const found = jobs.flatMap(([, job]) => job ?? [])
  if (change.asksAlways && found.length > 0) {
    const what =
      found.length === 1 ? `${typeText(found[0]!)} ${found[0]!.id} (${found[0]!.state})` : `${found.length} jobs`
    if (!(await confirm(context, `${change.verb} ${what}?`))) return 1
  }
  const results = []
  for (const [id, job] of jobs) {
    const { status } = job ? await change.one(admin, job) : { status: 'not_found' }
    results.push({ id, ...(job && { type: typeText(job) }), status })
  }
  if (out.isJson) out.json({ jobs: results })
  else for (const { id, type = '', status } of results) out.line(`${status}  ${[type, id].join(' ').trim()}`)
  return results.every(({ status }) => change.done.includes(status)) ? 0 : 1
}

/** @returns the exit code @throws UsageError without --all */
export async function changeAll(
  context: Pick<ChangeContext, 'admin' | 'options' | 'host' | 'out'>,
  change: BulkChange,
): Promise<number> {
  const { options, out } = context
  if (!options.all) {
    const isAlmost = isFiltered(options) || options.state !== undefined
    if (change.takesNoIds === true)
      throw new UsageError('pass --all: it runs all failed jobs that match the filters again.')
    throw new UsageError(
      isAlmost ? 'no id is given. With filters, pass --all, too.' : 'no id is given. Pass ids, or --all.',
    )
  }
  const admin = await context.admin()
  const filter: AdminJobFilter = { ...(await filterOf(admin, options)), states: options.state ?? change.states }
  const count = await roughCount(admin, filter)
  if (count === 0) return answer(out, { matched: 0, done: 0, skipped: 0, failed: 0, stopped: false, errors: [] })
  const what = count === undefined ? 'all jobs that match' : counted(count, 'job')
  const states = filter.states!.join(', ')
  if (!(await confirm(context, `${change.verb} ${what} (${states})?`))) return 1
  return runBulk(context, change.many(admin, filter, { perSecond: options['per-second'] }))
}

/** Undefined if it is not known without reading the jobs. */
async function roughCount(admin: Admin, { types, states, ...rest }: AdminJobFilter): Promise<number | undefined> {
  if (Object.keys(rest).length > 0) return undefined
  const known = await admin.types()
  const isWanted = (face: string, name: string): boolean =>
    !types || types.some((type) => type.face === face && type.name === name)
  return known
    .filter(({ face, name }) => isWanted(face, name))
    .reduce((sum, type) => sum + states!.reduce((part, state) => part + type.states[state], 0), 0)
}

/** Follows an action to its end; an interrupt ends it after the batch under way. */
async function runBulk({ host, out }: Pick<Context, 'host' | 'out'>, action: BulkAction): Promise<number> {
  const signal = host.interruption()
  const stop = (): void => void action.stop().catch(() => {})
  signal.addEventListener('abort', stop, { once: true })
  try {
    return answer(out, await action.result)
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function answer(out: Context['out'], result: BulkResult): number {
  const { matched, done, skipped, failed, stopped, truncated, errors } = result
  if (out.isJson) {
    const shown = errors.map(({ job, error }) => ({ ...job, message: error.message }))
    out.json({ matched, done, skipped, failed, stopped, ...(truncated && { truncated }), errors: shown })
  } else {
    out.line(`${done} of ${matched} jobs done, ${skipped} skipped, ${failed} failed`)
    for (const { job, error } of errors.slice(0, 10)) out.line(`  ${typeText(job)} ${job.id}: ${error.message}`)
    if (stopped) out.line('It was stopped. Run it again for the rest.')
    if (truncated) out.line('The storage stopped after 100,000 jobs. Run it again for the rest.')
  }
  return failed > 0 || stopped ? 1 : 0
}
