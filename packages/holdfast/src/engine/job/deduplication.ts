// The deduplication of a job, on every face: the options of each mode, and what the storage is given for them.

import { invalidArgument } from '../../errors.ts'
import { integer, oneOf, text, yearMs } from '../../option-checks.ts'
import { resolveOptions, type Table } from '../../resolve-options.ts'
import type { Deduplication, DeduplicationMode } from '../../storage/storage.ts'

/** One job per key: while it is live, or per window. */
export interface OnceDeduplication {
  /** 1 … 512 bytes of UTF-8. */
  readonly key: string
  /**
   * `simple`: one job while it is live. `throttle`: one job per window, even if it has ended. The modes `debounce`, `followUp` and
   * `ascending` have options of their own. @default 'simple'
   */
  readonly mode?: 'simple' | 'throttle' | undefined
  /** Length of the window, in ms from the first job with the key. Mode `debounce`: from the last one, and required. */
  readonly windowMs?: number | undefined
}

/** The job waits for a pause between adds. Each add replaces its payload, and starts its window anew. Not with delayMs or runAt. */
export interface DebounceDeduplication {
  /** 1 … 512 bytes of UTF-8. */
  readonly key: string
  /** Each job replaces the payload of the waiting one, and starts its window anew. */
  readonly mode: 'debounce'
  /** How long the job waits after the last add, in ms. */
  readonly windowMs: number
  /** Mode `debounce`: longest wait in all, in ms from the first add with the key. @default no limit */
  readonly maxWaitMs?: number | undefined
}

/** One job runs, and at most one waits for its end. Adds while one waits replace the payload of that one. */
export interface FollowUpDeduplication {
  /** 1 … 512 bytes of UTF-8. */
  readonly key: string
  /** While a job of the key runs, one more waits for its end; later ones replace the payload of that one. */
  readonly mode: 'followUp'
}

/** Only versions above the last accepted one of the key, whatever became of its job. */
export interface AscendingDeduplication {
  /** 1 … 512 bytes of UTF-8. */
  readonly key: string
  /** A job is accepted only with a greater version than the last accepted one. */
  readonly mode: 'ascending'
  /** Mode `ascending`, required: a safe integer, such as a revision or a time. */
  readonly version: number
  /** Mode `ascending`: how long the last version of the key is known, in ms from its add. @default for ever */
  readonly ttlMs?: number | undefined
}

/** A deduplication key, on every face. The mode decides what a second job with the key does. */
export type DeduplicationOptions =
  | OnceDeduplication
  | DebounceDeduplication
  | FollowUpDeduplication
  | AscendingDeduplication

const duration = { check: integer(1, 100 * yearMs) }

/** The options of all modes. */
export const deduplicationOptions = {
  key: { check: text(512) },
  mode: { default: 'simple', check: oneOf('simple', 'throttle', 'debounce', 'followUp', 'ascending') },
  windowMs: duration,
  maxWaitMs: duration,
  version: { check: integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER) },
  ttlMs: duration,
} as const satisfies Table

const { key, mode, windowMs, maxWaitMs, version, ttlMs } = deduplicationOptions
const chosenMode = { check: mode.check }

/** The options of each mode. */
export const deduplicationByMode = {
  simple: { key, mode, windowMs },
  throttle: { key, mode, windowMs },
  debounce: { key, mode: chosenMode, windowMs, maxWaitMs },
  followUp: { key, mode: chosenMode },
  ascending: { key, mode: chosenMode, version, ttlMs },
} as const satisfies Readonly<Record<DeduplicationMode, Table>>

/** @throws TypeError INVALID_ARGUMENT, also for an option of another mode */
export function isDeduplication(name: string, value: unknown): void {
  const chosen = (value as { readonly mode?: unknown } | null)?.mode
  if (chosen !== undefined) mode.check(`${name}.mode`, chosen)
  const where = chosen === undefined ? name : `${name} of mode '${String(chosen)}'`
  const given: { readonly [option: string]: unknown } = resolveOptions(
    where,
    value as object,
    deduplicationByMode[(chosen as DeduplicationMode | undefined) ?? 'simple'] as Table,
    `${name}.`,
  )
  if (given.key === undefined) throw invalidArgument(`${name}.key`, 'the deduplication key', given.key)
  if (chosen === 'debounce' && given.windowMs === undefined) {
    throw invalidArgument(`${name}.windowMs`, "how long a job of mode 'debounce' waits, in ms", given.windowMs)
  }
  if (chosen === 'ascending' && given.version === undefined) {
    throw invalidArgument(`${name}.version`, "the version of a job of mode 'ascending'", given.version)
  }
}

/** What the storage is given. @param options that isDeduplication() accepted */
export function deduplicationOf(options: DeduplicationOptions): Deduplication {
  const { key: name } = options
  switch (options.mode) {
    case 'debounce':
      return { key: name, mode: 'debounce', windowMs: options.windowMs, maxWaitMs: options.maxWaitMs }
    case 'followUp':
      return { key: name, mode: 'followUp' }
    case 'ascending':
      return { key: name, mode: 'ascending', version: options.version, ttlMs: options.ttlMs }
    default:
      return { key: name, mode: options.mode ?? 'simple', windowMs: options.windowMs }
  }
}

/**
 * True if the add may replace the payload of another job. Such a job needs a token of its own: the storage takes a second
 * replacement under one token for a repeat of the first.
 */
export const replacesPayload = (deduplication: Deduplication): boolean =>
  deduplication.mode === 'debounce' || deduplication.mode === 'followUp'
