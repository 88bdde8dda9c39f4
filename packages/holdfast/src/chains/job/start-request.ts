// What startJobChain and continueWith are given, as the run time sees it.

import { invalidArgument } from '../../errors.ts'
import { resolveOptions } from '../../resolve-options.ts'
import { deduplicationOf, type DeduplicationOptions, isDeduplication } from '../../engine/job/deduplication.ts'
import { checkDebounced, setWhen, type SharedJobOptions, sharedFieldsOf } from '../../engine/job/job-options.ts'
import type { ClaimedJob, Deduplication, NewJob, Retention } from '../../storage/storage.ts'
import { continueOptions, deduplicationOptions, startOptions } from '../options.ts'
import type { ChainRef } from '../types/records.ts'
import type { TraceContext } from '../../engine/tracing.ts'
import type { ChainDeduplication, OnBlockerFailure, Schedule } from '../types/start-options.ts'

/** Complete once it is resolved: `schedule` is an alias of `delayMs` and `runAt`. */
export interface StartRequest extends Omit<SharedJobOptions, 'deduplication'> {
  readonly typeName: string
  readonly input: unknown
  readonly schedule?: Schedule | undefined
  readonly startBlockers?: ((context: object) => Promise<readonly ChainRef[]>) | undefined
  readonly blockers?: readonly ChainRef[] | undefined
  readonly onBlockerFailure?: OnBlockerFailure | undefined
  readonly id?: string | undefined
  readonly deduplication?: ChainDeduplication | undefined
  readonly traceContext?: TraceContext | undefined
}

/** The job that a continuation follows. */
export type Predecessor = Pick<
  ClaimedJob,
  'type' | 'id' | 'chain' | 'chainIndex' | 'createdAt' | 'priority' | 'trace' | 'retention'
>

/** @throws TypeError INVALID_ARGUMENT */
export function resolveStart(given: StartRequest): StartRequest {
  return resolved('startJobChain', given, startOptions)
}

/** @throws TypeError INVALID_ARGUMENT */
export function resolveContinuation(given: StartRequest): StartRequest {
  return resolved('continueWith', given, continueOptions)
}

function resolved(
  where: string,
  given: StartRequest,
  table: typeof startOptions | typeof continueOptions,
): StartRequest {
  const request = resolveOptions(where, given, table) as StartRequest
  const { typeName, delayMs, runAt, startBlockers, blockers } = request
  startOptions.typeName.check('typeName', typeName)
  if (delayMs !== undefined && runAt !== undefined) {
    throw invalidArgument(`${where} options`, 'either delayMs or runAt', { delayMs, runAt })
  }
  if (startBlockers && blockers) {
    throw invalidArgument(`${where} options`, 'either startBlockers or blockers', blockers)
  }
  return request
}

/** The fields of the job that every face has. A field that was not given is absent: a continuation has that of the job before it. */
export function sharedFields({
  delayMs,
  runAt,
  priority,
  timeoutMs,
  expiresInMs,
  group,
  weight,
  search,
}: StartRequest): Partial<NewJob> {
  const fields = sharedFieldsOf({ delayMs, runAt, priority, timeoutMs, expiresInMs, group, weight, search })
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** @param isAlone the call starts no other chain, and no job waits for this one. @throws TypeError INVALID_ARGUMENT */
export function chainDeduplicationOf(request: StartRequest, isAlone: boolean): Deduplication | undefined {
  const { deduplication: given, delayMs, runAt, blockers, startBlockers } = request
  if (!given) return undefined
  const options = resolveOptions('deduplication', given as DeduplicationOptions, deduplicationOptions)
  isDeduplication('deduplication', options)
  const deduplication = deduplicationOf(options as DeduplicationOptions)
  checkDebounced({ deduplication, ...setWhen({}, { delayMs, runAt }) })
  if (deduplication.mode === 'followUp' && (blockers ?? startBlockers)) {
    throw invalidArgument('deduplication.mode', 'another mode than followUp for a start with blockers', 'followUp')
  }
  // A stale start is an error. Other chains of the call would be written all the same.
  if (deduplication.mode === 'ascending' && !isAlone) {
    const expected = 'another mode than ascending for one of several chains: start it alone, with startJobChain'
    throw invalidArgument('deduplication.mode', expected, 'ascending')
  }
  return deduplication
}

/** A chain that a deduplication window may still refer to is kept as long as the window. */
export function retentionWithin(retention: Retention, deduplication: Deduplication | undefined): Retention {
  const isWindow = deduplication?.mode === 'simple' || deduplication?.mode === 'throttle'
  const windowMs = isWindow ? deduplication.windowMs : undefined
  return windowMs === undefined ? retention : { ...retention, completedMs: Math.max(retention.completedMs, windowMs) }
}
