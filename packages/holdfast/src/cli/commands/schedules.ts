import type { Admin, AdminScheduleInfo } from '../../admin/admin.ts'
import { storedType } from '../../storage/stored-type.ts'
import { suggestion } from '../../option-suggestions.ts'
import { command, type Context } from '../command.ts'
import { confirm } from '../confirm.ts'
import { counted } from '../../count-text.ts'
import type { Column } from '../table.ts'
import { ageText, durationText, instantText } from '../time.ts'
import { shortened, UsageError } from '../usage-error.ts'

const actions = ['list', 'preview', 'fire', 'pause', 'resume', 'prune'] as const

export const schedules = command({
  name: 'schedules',
  summary: 'list schedules, look ahead, fire, pause, resume or prune them',
  details: [
    'preview prints the next instants; fire adds a job now, beside the slots; pause fires no slot until resume.',
    'prune --release 7 removes the schedules that code of a release below 7 declared and no later code declared again. Their jobs stay.',
  ],
  arguments: [
    { name: 'action', summary: 'what to do, list without it', optional: true, values: actions },
    { name: 'name', summary: 'name of the schedule', optional: true },
  ],
  options: {
    owner: {
      kind: 'text',
      placeholder: 'owner',
      summary: 'queue of the schedule, such as queue.mail; needed if several have the name',
    },
    count: { kind: 'integer', summary: 'preview: how many instants, 1 … 1000; default: 5' },
    release: { kind: 'integer', summary: 'prune: the release that runs now' },
  },
  asks: true,
  examples: [
    { line: 'holdfast schedules --url sqlite:./jobs.db', does: 'every schedule, with its next slot' },
    { line: 'holdfast schedules preview nightly-report --count 3', does: 'the next three instants, in its time zone' },
    { line: 'holdfast schedules fire nightly-report', does: 'a job now' },
    { line: 'holdfast schedules prune --release 7', does: 'what is left of older releases' },
  ],
  async run(context) {
    const { args, options, out } = context
    const { action = 'list', name } = args
    const admin = await context.admin()
    if (action === 'list' || action === 'prune') {
      if (name !== undefined) throw new UsageError(`${action} takes no name, got '${shortened(name)}'.`)
      return action === 'list' ? list(context, admin, options.owner) : prune(context, admin, options.release)
    }
    if (name === undefined) throw new UsageError(`${action} needs the <name> of a schedule.`)
    const schedule = await find(admin, name, options.owner)
    if (action === 'preview') {
      const slots = await admin.schedules.preview(schedule, options.count)
      if (out.isJson) out.json({ name, slots })
      else for (const { at, local } of slots) out.line(`${instantText(at)}  ${local}`)
      return 0
    }
    return change(out, admin, action, schedule)
  },
})

const ownerText = ({ face, owner }: { readonly face: string; readonly owner: string }): string =>
  owner === '' ? face : storedType(face, owner)

type Surroundings = Pick<Context, 'out' | 'host' | 'options'>

async function list({ out, host }: Surroundings, admin: Admin, owner: string | undefined): Promise<number> {
  const all = await admin.schedules.list()
  const found = owner === undefined ? all : all.filter((one) => ownerText(one) === owner || one.owner === owner)
  if (out.isJson) out.json({ schedules: found })
  else if (found.length === 0) out.line('There is no schedule.')
  else out.table(found, columns(host.clock.now()))
  return 0
}

const columns = (now: number): readonly Column<AdminScheduleInfo>[] => [
  { title: 'NAME', of: ({ name }) => name },
  { title: 'OWNER', of: ownerText },
  { title: 'RULE', of: ruleText },
  { title: 'NEXT', of: ({ nextAt, paused }) => (paused ? 'paused' : ageText(nextAt, now)) },
  { title: 'LAST', of: ({ lastAt }) => ageText(lastAt, now) },
]

const ruleText = ({ cron, everyMs, timeZone }: AdminScheduleInfo): string => {
  if (everyMs !== undefined) return `every ${durationText(everyMs)}`
  return timeZone === 'UTC' ? cron! : `${cron} ${timeZone}`
}

/** @throws UsageError if there is none, or several */
async function find(admin: Admin, name: string, owner: string | undefined): Promise<AdminScheduleInfo> {
  const all = await admin.schedules.list()
  const found = all.filter(
    (one) => one.name === name && (owner === undefined || ownerText(one) === owner || one.owner === owner),
  )
  if (found.length === 1) return found[0]!
  if (found.length > 1) {
    const owners = found.map((one) => `--owner ${ownerText(one)}`).join(', ')
    throw new UsageError(`several schedules are named '${shortened(name)}'. Pass one of: ${owners}.`)
  }
  const names = all.map((one) => one.name)
  const meant = suggestion(name.slice(0, 64), names)
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`
  throw new UsageError(`there is no schedule '${shortened(name)}'.${hint}`)
}

async function change(
  out: Context['out'],
  admin: Admin,
  action: 'fire' | 'pause' | 'resume',
  schedule: AdminScheduleInfo,
): Promise<number> {
  const { name } = schedule
  if (action === 'fire') {
    const id = await admin.schedules.fire(schedule)
    if (out.isJson) out.json({ name, status: 'fired', id })
    else out.line(`fired  ${name}: job ${id}`)
    return 0
  }
  const isChanged = await admin.schedules[action](schedule)
  const status = isChanged ? (action === 'pause' ? 'paused' : 'resumed') : 'unchanged'
  if (out.isJson) out.json({ name, status })
  else out.line(`${status}  ${name}`)
  return 0
}

async function prune(context: Surroundings, admin: Admin, release: number | undefined): Promise<number> {
  if (release === undefined) throw new UsageError('prune needs --release: the number of the release that runs now.')
  const { out } = context
  const old = (await admin.schedules.list()).filter((one) => one.release !== undefined && one.release < release)
  const names = old.map(({ name }) => name)
  if (old.length > 0 && !(await confirm(context, `Remove ${counted(old.length, 'schedule')}: ${names.join(', ')}?`)))
    return 1
  for (const one of old) await admin.schedules.remove(one)
  if (out.isJson) out.json({ removed: old.map((one) => ({ owner: ownerText(one), name: one.name })) })
  else out.line(`${counted(old.length, 'schedule')} removed`)
  return 0
}
