// The options of the admin handle.

import { bulkOptions, redriveOptions as engineRedriveOptions } from '../engine/operate/bulk.ts'
import { operatorCancelOptions } from '../engine/operate/cancel.ts'
import { filterOptions, queryOptions } from '../engine/operate/job-filter.ts'
import { sharedOptions } from '../engine/options.ts'
import { readable } from '../copy-option.ts'
import { invalidArgument } from '../errors.ts'
import { anything, checkText, integer, isList, text } from '../option-checks.ts'
import { resolveOptions, type Table } from '../resolve-options.ts'
import { isFace, storedType } from '../storage/stored-type.ts'

export const adminOptions = {
  storage: sharedOptions.storage,
  by: { check: text(256) },
  logger: sharedOptions.logger,
  clock: sharedOptions.clock,
} as const satisfies Table

const target = {
  face: { check: isFaceOrNone },
  name: { check: text(256) },
} as const satisfies Table

const typesOptions = { ...target, types: { check: isListOfTypes } } as const satisfies Table

export const adminFilterOptions = { ...typesOptions, ...filterOptions } as const satisfies Table

const { states: _, ...withoutStates } = adminFilterOptions
/** redrive() is for failed jobs. */
export const redriveFilterOptions = withoutStates satisfies Table

export const adminQueryOptions = { ...typesOptions, ...queryOptions } as const satisfies Table

export const bulkCancelOptions = { ...bulkOptions, ...operatorCancelOptions } as const satisfies Table
export const bulkActionOptions = bulkOptions
export const redriveOptions = engineRedriveOptions

const pauseTargetOptions = { ...target, group: filterOptions.group } as const satisfies Table
export const addJobOptions = {
  id: { check: text(512) },
  payload: anything,
  delayMs: sharedOptions.delayMs,
  runAt: sharedOptions.runAt,
  priority: sharedOptions.priority,
  group: { check: text(512) },
  maxAttempts: sharedOptions.maxAttempts,
} as const satisfies Table
export const replayOptions = { payload: anything } as const satisfies Table
export const byOptions = { by: adminOptions.by } as const satisfies Table

const ofOwner = { face: { check: isFaceOrNone }, owner: { check: isText } } as const satisfies Table
export const scheduleFilterOptions = ofOwner
export const namedScheduleOptions = { ...ofOwner, name: { check: text(256) } } as const satisfies Table

export const runsOptions = {
  spanMs: { default: 86_400_000, check: integer(1, 31 * 86_400_000) },
  most: { default: 48, check: integer(1, 1_000) },
} as const satisfies Table

export const fleetEventOptions = {
  types: { check: isListOfTypes },
  signal: sharedOptions.signal,
} as const satisfies Table

/** Chains have no name of their own. */
function isText(name: string, value: unknown): void {
  if (value !== '') checkText(name, value, 256)
}

/** A type that no face wrote has face ''. */
function isFaceOrNone(name: string, value: unknown): void {
  if (value !== '') isFace(name, value)
}

function isListOfTypes(name: string, value: unknown): void {
  isList(name, value)
  for (const [index, type] of (value as unknown[]).entries()) typeOf(`${name}[${index}]`, type as NamedType)
}

/** The name of a type: that of a queue, job type or message queue, with its face. */
export interface NamedType {
  /** `queue`, `chain`, `task`, or the face of a package. */
  readonly face: string
  /** Name of the queue, the job type or the message queue. */
  readonly name: string
}

/** The stored type. @throws TypeError INVALID_ARGUMENT */
export function typeOf(where: string, given: NamedType): string {
  if (given === null || typeof given !== 'object') throw invalidArgument(where, 'an object with face and name', given)
  const { face, name } = readable(where, () => ({ face: given.face, name: given.name }))
  isFaceOrNone(`${where}.face`, face)
  checkText(`${where}.name`, name, 512)
  return face === '' ? name : storedType(face, name)
}

/** The stored type of a target. @throws TypeError INVALID_ARGUMENT */
export function pauseTarget(where: string, given: NamedType & { readonly group?: string | undefined }) {
  const { face, name, group } = resolveOptions(where, given, pauseTargetOptions)
  return { type: typeOf(where, { face, name }), group }
}
