// Which jobs a list shows and a bulk action changes: the options of every face, and the query for the storage.

import { integer, isBoolean, isFields, isList, oneOf, text } from '../../option-checks.ts'
import type { Table } from '../../resolve-options.ts'
import { stateNames } from '../../storage/rules/job/codes.ts'
import { isTerminal } from '../../storage/rules/job/states.ts'
import type { JobState, ListQuery, Where } from '../../storage/storage.ts'
import { sharedOptions } from '../options.ts'

/** Conditions on jobs. All that are given must hold. */
export interface JobFilter {
  /** @default every state; of a bulk action, those that it can change */
  readonly states?: readonly JobState[] | undefined
  /** Key of a group. */
  readonly group?: string | undefined
  /** Search fields: a value, a list of values, or bounds (`gt`, `gte`, `lt`, `lte`) per field. */
  readonly where?: Where | undefined
  /** Jobs that were added at this instant or later: epoch ms, or a Date. */
  readonly createdFrom?: number | Date | undefined
  /** Jobs that were added before this instant: epoch ms, or a Date. */
  readonly createdTo?: number | Date | undefined
}

/** A list of jobs. */
export interface JobQuery extends JobFilter {
  /**
   * `asc`, `desc`: by the instant of the add. `place`: in the order in which the storage keeps them, whose pages cost the same
   * whatever the number of jobs. @default with createdFrom or createdTo 'desc', else 'place'
   */
  readonly order?: 'asc' | 'desc' | 'place' | undefined
  /** The `nextCursor` of the page before. The other options must be the same. */
  readonly cursor?: string | undefined
  /** Most items of the page, 1 … 1000. @default 50 */
  readonly limit?: number | undefined
  /**
   * Time after which no further part of the storage is looked at for this page, in ms. The page has what was found by then, and a
   * nextCursor. @default none
   */
  readonly maxMs?: number | undefined
  /** Whether items have their payload. @default false */
  readonly payload?: boolean | undefined
  /** Whether items have the latest error of their job. @default false */
  readonly error?: boolean | undefined
}

/** States in which a job has ended. */
export const endedStates: readonly JobState[] = stateNames.filter(isTerminal)
/** States in which a job waits: for its time, or for a blocker. */
export const waitingStates: readonly JobState[] = stateNames.filter(
  (state) => state !== 'processing' && !isTerminal(state),
)

export const filterOptions = {
  states: { check: isListOfStates, isData: true },
  group: { check: text(512) },
  where: { check: isFields, isData: true },
  createdFrom: sharedOptions.runAt,
  createdTo: sharedOptions.runAt,
} as const satisfies Table

export const queryOptions = {
  ...filterOptions,
  order: { check: oneOf('asc', 'desc', 'place') },
  cursor: { check: text(65_536) },
  limit: { default: 50, check: integer(1, 1_000) },
  maxMs: { check: integer(0) },
  payload: { default: false, check: isBoolean },
  error: { default: false, check: isBoolean },
} as const satisfies Table

const isState = oneOf(...stateNames)

function isListOfStates(name: string, value: unknown): void {
  isList(name, value)
  for (const [index, state] of (value as unknown[]).entries()) isState(`${name}[${index}]`, state)
}

/** The part of a storage's query that a filter is. */
export function conditionsOf(
  { states: wanted, group, where, createdFrom, createdTo }: JobFilter,
  types: readonly string[] | undefined,
): Pick<ListQuery, 'types' | 'states' | 'group' | 'where' | 'createdFrom' | 'createdTo'> {
  return {
    types,
    states: wanted,
    group,
    where,
    createdFrom: createdFrom === undefined ? undefined : Number(createdFrom),
    createdTo: createdTo === undefined ? undefined : Number(createdTo),
  }
}
