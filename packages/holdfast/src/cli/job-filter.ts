// Options that select jobs: the same for every command that lists or changes many.

import type { Admin, AdminJobFilter } from '../admin/admin.ts'
import { stateNames } from '../storage/rules/job/codes.ts'
import type { Where } from '../storage/storage.ts'
import type { OptionSpec } from './command.ts'
import { findTypes } from './find-type.ts'
import { shortened, UsageError } from './usage-error.ts'

export const filterOptions = {
  type: {
    kind: 'text',
    placeholder: 'type',
    repeat: true,
    summary: 'only jobs of this type, such as queue.mail or mail',
  },
  group: { kind: 'text', placeholder: 'key', summary: 'only jobs of this group' },
  where: {
    kind: 'text',
    placeholder: 'field=value',
    repeat: true,
    summary: "only jobs with this search field; also '>', '>=', '<' and '<='",
  },
  from: { kind: 'instant', summary: 'only jobs that were added at this time or later' },
  to: { kind: 'instant', summary: 'only jobs that were added before this time' },
} as const satisfies Readonly<Record<string, OptionSpec>>

export const stateOption = {
  kind: 'text',
  placeholder: 'state',
  repeat: true,
  values: stateNames,
  summary: 'only jobs in this state',
} as const satisfies OptionSpec

interface Given {
  readonly type?: readonly string[] | undefined
  readonly group?: string | undefined
  readonly where?: readonly string[] | undefined
  readonly from?: number | undefined
  readonly to?: number | undefined
}

/** Whether any of the options is given. */
export const isFiltered = ({ type, group, where, from, to }: Given): boolean =>
  [type, group, where, from, to].some((value) => value !== undefined)

/** @throws UsageError */
export async function filterOf(admin: Admin, given: Given): Promise<Omit<AdminJobFilter, 'states'>> {
  const { type, group, where, from, to } = given
  return {
    ...(type && { types: await findTypes(admin, type) }),
    ...(group !== undefined && { group }),
    ...(where && { where: whereOf(where) }),
    ...(from !== undefined && { createdFrom: from }),
    ...(to !== undefined && { createdTo: to }),
  }
}

const operators = { '=': undefined, '>=': 'gte', '<=': 'lte', '>': 'gt', '<': 'lt' } as const

function whereOf(texts: readonly string[]): Where {
  const conditions = new Map<string, unknown>()
  for (const text of texts) {
    const [, field, operator, value] = /^([^=<>]+)(>=|<=|=|>|<)(.*)$/s.exec(text) ?? []
    if (field === undefined) throw new UsageError(`--where: expected field=value, got '${shortened(text)}'.`)
    const bound = operators[operator as keyof typeof operators]
    const parsed = searchValue(value!)
    conditions.set(field, bound === undefined ? parsed : { ...(conditions.get(field) as object), [bound]: parsed })
  }
  return Object.fromEntries(conditions) as Where
}

/** Numbers and booleans as such; a text that looks like one is put in double quotes. */
function searchValue(text: string): string | number | boolean {
  if (/^-?\d{1,15}(\.\d+)?$/.test(text)) return Number(text)
  if (text === 'true' || text === 'false') return text === 'true'
  return /^".*"$/s.test(text) ? text.slice(1, -1) : text
}
