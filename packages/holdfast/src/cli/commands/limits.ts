import type { LimitsInfo, LimitsUse } from '../../engine/limits/limits-calls.ts'
import type { GroupLimitsOptions, LimitsOptions, RateOptions } from '../../engine/limits/limits-options.ts'
import { command, type Context } from '../command.ts'
import { findType, typeText } from '../find-type.ts'
import { ageText, durationText } from '../time.ts'
import { shortened, UsageError } from '../usage-error.ts'
import { durationOf } from '../values.ts'

export const limits = command({
  name: 'limits',
  summary: 'show the limits of a type with their use, or set them',
  details: [
    'What is set here wins over what code declares, field by field, in all processes. none removes what was set.',
  ],
  arguments: [{ name: 'type', summary: 'such as queue.mail, or mail' }],
  options: {
    group: { kind: 'text', placeholder: 'key', summary: 'the limits of this group' },
    concurrency: {
      kind: 'text',
      placeholder: 'n|none',
      summary: 'set: most jobs that run at a time, in all processes',
    },
    rate: { kind: 'text', placeholder: 'n/10s|none', summary: 'set: most starts in any interval of that length' },
    'max-waiting': { kind: 'text', placeholder: 'n|none', summary: 'set: most jobs that wait' },
    clear: { kind: 'flag', summary: 'remove all that operators set' },
  },
  examples: [
    { line: 'holdfast limits mail --url sqlite:./jobs.db', does: 'the limits in force, and how much is used' },
    { line: 'holdfast limits mail --rate 100/1m --concurrency 5', does: 'at most 100 starts a minute, five at a time' },
    { line: 'holdfast limits mail --group tenant-7 --concurrency 1', does: 'one group alone' },
    { line: 'holdfast limits mail --clear', does: 'back to what code declares' },
  ],
  async run({ admin, args, options, out, host }) {
    const patch = patchOf(options)
    if (patch && options.clear)
      throw new UsageError('--clear removes what the other options would set. Pass one of them.')
    const handle = await admin()
    const type = await findType(handle, args.type)
    const { group } = options
    if (options.clear) await handle.limits.clear({ ...type, group })
    if (patch && group === undefined) await handle.limits.set(type, patch)
    if (patch && group !== undefined) {
      const { concurrency, ...rest } = patch
      await handle.limits.set({ ...type, group }, concurrency === undefined ? rest : { ...rest, limit: concurrency })
    }
    const info = await handle.limits.get(type, group === undefined ? {} : { groups: [group] })
    if (out.isJson) out.json({ type: typeText(type), ...info })
    else print(out, typeText(type), info, host.clock.now())
    return 0
  },
})

interface Patch {
  readonly concurrency?: number | null
  readonly rate?: RateOptions | null
  readonly maxWaiting?: number | null
}

type Given = Partial<Record<'concurrency' | 'rate' | 'max-waiting', string>>

/** Undefined: nothing is to be set. @throws UsageError */
function patchOf({ concurrency, rate, 'max-waiting': maxWaiting }: Given): Patch | undefined {
  if (concurrency === undefined && rate === undefined && maxWaiting === undefined) return undefined
  return {
    ...(concurrency !== undefined && { concurrency: countOf('concurrency', concurrency) }),
    ...(rate !== undefined && { rate: rateOf(rate) }),
    ...(maxWaiting !== undefined && { maxWaiting: countOf('max-waiting', maxWaiting) }),
  }
}

function countOf(name: string, text: string): number | null {
  if (text === 'none') return null
  if (!/^\d{1,15}$/.test(text))
    throw new UsageError(`--${name}: expected an integer or none, got '${shortened(text)}'.`)
  return Number(text)
}

function rateOf(text: string): RateOptions | null {
  if (text === 'none') return null
  const [, limit, per] = /^(\d{1,15})\/(\S+)$/.exec(text) ?? []
  if (limit === undefined)
    throw new UsageError(`--rate: expected a form such as 100/1m, or none, got '${shortened(text)}'.`)
  return { limit: Number(limit), perMs: durationOf('rate', /^\d/.test(per!) ? per! : `1${per!}`) }
}

function print(out: Context['out'], type: string, { effective, override, use, groups }: LimitsInfo, now: number): void {
  const { group, ...own } = effective
  out.line({ text: type, style: 'bold' })
  out.line(`  limits   ${limitsText(own)}${override ? ` (set by ${override.by ?? 'an operator'})` : ''}`)
  if (group) out.line(`  groups   ${limitsText(group)} each`)
  out.line(`  use      ${useText(use, now)}`)
  for (const one of groups) {
    out.line(`  group ${one.group}: ${limitsText(one.effective)}; ${useText(one.use, now)}`)
    if (one.use.heldBy !== undefined) out.line(`    held by the failed job ${one.use.heldBy}`)
  }
}

function limitsText(shown: LimitsOptions | GroupLimitsOptions): string {
  const { rate, maxWaiting } = shown
  const atATime = 'concurrency' in shown ? shown.concurrency : (shown as GroupLimitsOptions).limit
  const texts = [
    atATime === undefined ? undefined : `${atATime} at a time`,
    rate && `${rate.limit} per ${durationText(rate.perMs)}`,
    maxWaiting === undefined ? undefined : `${maxWaiting} waiting`,
  ].filter((text) => text !== undefined)
  return texts.length === 0 ? 'none' : texts.join(', ')
}

function useText({ running, waiting, used, freesAt, slowedUntil }: LimitsUse, now: number): string {
  return [
    `${running} running`,
    `${waiting} waiting`,
    ...(used === undefined ? [] : [`${used} of the rate used`]),
    ...(freesAt === undefined
      ? []
      : [freesAt === Infinity ? 'full until a job ends' : `free ${ageText(freesAt, now)}`]),
    ...(slowedUntil === undefined ? [] : [`slowed down, free ${ageText(slowedUntil, now)}`]),
  ].join(', ')
}
