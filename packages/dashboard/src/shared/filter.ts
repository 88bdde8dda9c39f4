// The filter language of the job list: `state:failed,cancelled type:mail group:tenant-7 age>1h customerId:c-42 total>=100 some-id`, and
// `created>=2026-03-29T03:00Z created<2026-03-30`.
// Conditions are separated by spaces, and all must hold. A value with spaces or quotes is written in double quotes.
// The app and the server parse the same text with this file. Invariant: the parser takes any text, in linear time.

import { instantOf } from './instant-text.ts'
import { isJobState, type JobState, jobStates } from './states.ts'

type Operator = ':' | '>' | '>=' | '<' | '<='

/** One condition, as it is written. */
export interface Token {
  /** '' for a word without a key, which is the id of a job. */
  readonly key: string
  readonly operator: Operator
  readonly value: string
}

type SearchValue = string | number | boolean
interface Range {
  gt?: number | string
  gte?: number | string
  lt?: number | string
  lte?: number | string
}

/** What the tokens of a filter mean together. */
export interface Filter {
  readonly states: readonly JobState[]
  /** Names of types; a job has one of them. */
  readonly types: readonly string[]
  readonly face?: string
  readonly group?: string
  /** Part of the error, with * for any text. */
  readonly error?: string
  readonly ids: readonly string[]
  /** Search fields. */
  readonly where: Readonly<Record<string, SearchValue | readonly SearchValue[] | Range>>
  /** Added at least so many ms ago. */
  readonly olderThanMs?: number
  /** Added at most so many ms ago. */
  readonly newerThanMs?: number
  /** Added at this instant or later: epoch ms. */
  readonly createdFrom?: number
  /** Added before this instant: epoch ms. */
  readonly createdTo?: number
}

export interface ParsedFilter {
  readonly tokens: readonly Token[]
  readonly filter: Filter
  /** A sentence for each part that has no meaning. Empty: the filter is valid. */
  readonly errors: readonly string[]
}

export const longestFilter = 4_096
const mostTokens = 50

/** Keys with a meaning of their own. Any other key is a search field; `where.state` is a search field of that name. */
export const filterKeys = ['state', 'type', 'face', 'group', 'error', 'id', 'age', 'created'] as const

const tokenPattern = /(?:([\p{L}_][\p{L}\p{N}_.-]*)(>=|<=|[:<>]))?("(?:[^"\\]|\\.)*"?|[^\s"]\S*)?/suy
const durationPattern = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d|w)$/
const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }
const longestAgeMs = 3_153_600_000_000

export function parseFilter(text: string): ParsedFilter {
  if (text.length > longestFilter) {
    return {
      ...meaningOf([]),
      errors: [`The filter has ${text.length} characters. At most ${longestFilter} are allowed.`],
    }
  }
  const tokens = tokensOf(text)
  if (tokens.length > mostTokens) {
    return {
      ...meaningOf([]),
      errors: [`The filter has ${tokens.length} conditions. At most ${mostTokens} are allowed.`],
    }
  }
  return meaningOf(tokens)
}

/** The text that parses to these tokens. */
export const formatFilter = (tokens: readonly Token[]): string => tokens.map(formatToken).join(' ')

export function formatToken({ key, operator, value }: Token): string {
  const written = needsQuotes(key, value) ? `"${value.replaceAll(/["\\]/g, '\\$&')}"` : value
  return key === '' ? written : `${key}${operator}${written}`
}

/** A word such as `a:b` would be read as a key and a value. */
function needsQuotes(key: string, value: string): boolean {
  return value === '' || /[\s"]/u.test(value) || (key === '' ? /[:<>]/.test(value) : value.startsWith('='))
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  for (let position = 0; ;) {
    while (position < text.length && /\s/u.test(text[position]!)) position++
    if (position >= text.length) return tokens
    tokenPattern.lastIndex = position
    const [whole = '', key = '', operator = ':', written = ''] = tokenPattern.exec(text) ?? []
    // A character that begins no token is skipped, so that the loop always advances.
    position += Math.max(1, whole.length)
    if (whole !== '') tokens.push({ key, operator: operator as Operator, value: unquoted(written) })
  }
}

const unquoted = (written: string): string =>
  written.startsWith('"') ? written.slice(1, hasEnd(written) ? -1 : undefined).replaceAll(/\\(.)/gsu, '$1') : written

/** An unfinished quote goes on to the end of the text. */
const hasEnd = (written: string): boolean => /^"(?:[^"\\]|\\.)*"$/su.test(written)

function meaningOf(tokens: readonly Token[]): ParsedFilter {
  const errors: string[] = []
  const [states, types, ids] = [new Set<JobState>(), new Set<string>(), new Set<string>()]
  const where = new Map<string, SearchValue | SearchValue[] | Range>()
  const single: {
    face?: string
    group?: string
    error?: string
    olderThanMs?: number
    newerThanMs?: number
    createdFrom?: number
    createdTo?: number
  } = {}
  for (const token of tokens) {
    const { key, operator, value } = token
    if (value === '') {
      errors.push(`'${key}' has no value.`)
    } else if (key === 'age') {
      const ms = durationMs(value)
      if (operator === ':' || ms === undefined) {
        errors.push(`'${formatToken(token)}': write the age as age>1h or age<30m, with s, m, h, d or w.`)
      } else single[operator.startsWith('>') ? 'olderThanMs' : 'newerThanMs'] = ms
    } else if (key === 'created') {
      const at = instantOf(value)
      if (operator === ':' || at === undefined) {
        errors.push(
          `'${formatToken(token)}': write the time as created>=2026-03-29T03:00Z or created<2026-03-30, in UTC unless it says another offset.`,
        )
      } else if (operator.startsWith('>')) single.createdFrom = operator === '>' ? at + 1 : at
      else single.createdTo = operator === '<' ? at : at + 1
    } else if (operator !== ':' && (key === '' || (filterKeys as readonly string[]).includes(key))) {
      errors.push(`'${formatToken(token)}': ${key} takes a colon.`)
    } else if (key === 'state') {
      for (const state of value.split(',')) {
        if (isJobState(state)) states.add(state)
        else errors.push(`There is no state '${state}'. The states are ${jobStates.join(', ')}.`)
      }
    } else if (key === 'type') types.add(value)
    else if (key === 'face' || key === 'group' || key === 'error') {
      if (single[key] !== undefined && single[key] !== value) errors.push(`'${key}' stands twice.`)
      single[key] = value
    } else if (key === 'id' || key === '') ids.add(value)
    else addCondition(where, key.replace(/^where\./, ''), operator, value)
  }
  const filter: Filter = {
    states: [...states],
    types: [...types],
    ids: [...ids],
    // Own properties, also for a field that is named __proto__.
    where: Object.fromEntries(where),
    ...single,
  }
  return { tokens, filter, errors }
}

/** A value may be text or a number in the storage: the token does not tell, so both match. */
function addCondition(
  where: Map<string, SearchValue | SearchValue[] | Range>,
  field: string,
  operator: Operator,
  value: string,
): void {
  const number = asNumber(value)
  if (operator === ':') {
    const values: SearchValue[] = [value]
    if (number !== undefined) values.push(number)
    if (value === 'true' || value === 'false') values.push(value === 'true')
    const before = where.get(field)
    where.set(field, [...(Array.isArray(before) ? before : []), ...values])
    return
  }
  const before = where.get(field)
  const range: Range = before !== undefined && typeof before === 'object' && !Array.isArray(before) ? before : {}
  const bound = ({ '>': 'gt', '>=': 'gte', '<': 'lt', '<=': 'lte' } as const)[operator]
  where.set(field, { ...range, [bound]: number ?? value })
}

function asNumber(value: string): number | undefined {
  return /^-?\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : undefined
}

function durationMs(text: string): number | undefined {
  const [, amount, unit] = durationPattern.exec(text) ?? []
  const ms = Math.round(Number(amount) * unitMs[unit as keyof typeof unitMs])
  return ms <= longestAgeMs ? ms : undefined
}

/** Whether a text has a pattern in it, in which * stands for any text. Letters count whether they are small or not. */
export function hasPattern(text: string, pattern: string): boolean {
  const lower = text.toLowerCase()
  let from = 0
  for (const part of pattern.toLowerCase().split('*')) {
    const found = lower.indexOf(part, from)
    if (found === -1) return false
    from = found + part.length
  }
  return true
}
