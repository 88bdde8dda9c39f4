// The deduplication of a message with a mode: one key for one message, in the scope of its task.

import { deduplicationOf, type DeduplicationOptions } from '../../engine/job/deduplication.ts'
import { checkDebounced } from '../../engine/job/job-options.ts'
import { invalidArgument } from '../../errors.ts'
import { encodeKvKey } from '../../storage/kv.ts'
import type { Deduplication, When } from '../../storage/storage.ts'

/** @throws TypeError INVALID_ARGUMENT beside a deduplicationKey, and for a debounced message with a time of its own */
export function modeIn(
  scope: string,
  options: DeduplicationOptions,
  deduplicationKey: string | undefined,
  due: When,
): Deduplication {
  checkNoKey(options, deduplicationKey)
  const deduplication = { ...deduplicationOf(options), key: encodeKvKey([scope, options.key]) }
  checkDebounced({ deduplication, ...due })
  return deduplication
}

/** @throws TypeError INVALID_ARGUMENT */
export function checkNoKey(options: DeduplicationOptions | undefined, deduplicationKey: string | undefined): void {
  if (options === undefined || deduplicationKey === undefined) return
  throw invalidArgument('deduplication', 'either deduplication or deduplicationKey, not both', options)
}

/** For batches. @throws TypeError INVALID_ARGUMENT */
export function checkNoMode(options: DeduplicationOptions | undefined): void {
  if (options !== undefined)
    throw invalidArgument('deduplication', 'none for a batch: its key is for one message', options)
}
