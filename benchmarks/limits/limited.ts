// The contract of a contender that keeps limits over all processes, for the case limits.

import type { Contender } from '../contender.ts'
import { holdfastLimited } from './holdfast.ts'

/** groups: one job of each group at a time. */
export type Limit =
  | { readonly kind: 'concurrency'; readonly limit: number }
  | { readonly kind: 'groups' }
  | { readonly kind: 'rate'; readonly limit: number; readonly perMs: number }

export interface LimitedJob {
  readonly n: number
  readonly group: string
}

export interface Limited {
  /** The kinds of limits that the contender has: how each is set, and how its own docs define it, for the table. */
  readonly kinds: Partial<Readonly<Record<Limit['kind'], string>>>
  /** Only with a limit of these kinds. @param place an empty directory, or one that another process has set up */
  open(limit: Limit, place: string): Promise<LimitedSession>
}

export interface LimitedSession {
  add(jobs: readonly LimitedJob[]): Promise<void>
  /** Starts a worker. The job is completed when the handler resolves. */
  work(concurrency: number, handler: (job: LimitedJob) => Promise<void>): Promise<void>
  /** Resolves when no handler runs any more. */
  close(): Promise<void>
}

/** Of one process: enough that the limit decides, not the slots. */
export const slotsPerProcess = 10

export function limitedOf({ limited, openStorage, isShared }: Contender): Limited | undefined {
  if (!isShared) return undefined
  return limited ?? (openStorage && holdfastLimited(openStorage))
}
