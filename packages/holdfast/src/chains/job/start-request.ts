// What startJobChain and continueWith are given, as the run time sees it.

import { invalidArgument } from '../../errors.ts'
import { resolveOptions } from '../../resolve-options.ts'
import type { ClaimedJob, Deduplication, Retention, When } from '../../storage/storage.ts'
import { continueOptions, deduplicationOptions, startOptions } from '../options.ts'
import type { ChainRef, TraceContext } from '../types/records.ts'
import type { ChainDeduplication, OnBlockerFailure, Schedule } from '../types/start-options.ts'

/** Complete once it is resolved: `schedule` is an alias of `delayMs` and `runAt`. */
export interface StartRequest {
  readonly typeName: string
  readonly input: unknown
  readonly delayMs?: number | undefined
  readonly runAt?: number | Date | undefined
  readonly schedule?: Schedule | undefined
  readonly priority?: number | undefined
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

/** When the job is to run, as the storage is told. */
export function whenOf({ delayMs, runAt }: StartRequest): When {
  if (delayMs !== undefined) return { delayMs }
  // Never early: a fraction of a millisecond counts as a whole one.
  return runAt === undefined ? {} : { runAt: Math.ceil(Number(runAt)) }
}

export function deduplicationOf(given: ChainDeduplication): Deduplication {
  const { key, strategy, windowMs } = resolveOptions('deduplication', given, deduplicationOptions)
  deduplicationOptions.key.check('key', key)
  return { key, mode: strategy === 'all' ? 'throttle' : 'simple', windowMs }
}

/** A chain that a deduplication window may still refer to is kept as long as the window. */
export function retentionWithin(retention: Retention, windowMs: number | undefined): Retention {
  return windowMs === undefined ? retention : { ...retention, completedMs: Math.max(retention.completedMs, windowMs) }
}
