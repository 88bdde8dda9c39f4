// The jobs that belong together: a chain, the chains that its jobs wait for, and so on, from the top of the tree. Bounded: a tree may have
// any size.

import type { JobRecord, JobRef, JobState } from '../../storage/storage.ts'
import type { GuardedStorage } from '../guard.ts'
import { type NamedJob, named } from './job-item.ts'

/** A job of a tree. */
export interface TreeJob extends NamedJob {
  readonly state: JobState
  /** First job of its chain. */
  readonly chain: NamedJob
  /** Place in its chain, from 0. */
  readonly chainIndex: number
  /** The first jobs of the chains that it waits, or waited, for. */
  readonly blockers: readonly NamedJob[]
  readonly createdAt: number
  readonly startedAt?: number
  readonly finishedAt?: number
}

export interface JobTree {
  /** Chain by chain, each in its order; the chain at the top first. */
  readonly jobs: readonly TreeJob[]
  /** There are more jobs than were read. */
  readonly truncated: boolean
}

/** Largest number of jobs that are read. */
const mostJobs = 1_000
/** Largest number of chains: each is a read of its own. */
const mostChains = 200

/** Undefined if the job is unknown. */
export async function readTree(
  storage: Pick<GuardedStorage, 'get' | 'list'>,
  ref: JobRef,
): Promise<JobTree | undefined> {
  const [asked] = await storage.get([ref])
  if (!asked) return undefined
  const jobs: JobRecord[] = []
  const seen = new Set<string>()
  const waiting: JobRef[] = [asked.root]
  let isCut = false
  for (let chain = waiting.shift(); chain; chain = waiting.shift()) {
    const key = keyOf(chain)
    if (seen.has(key)) continue
    if (seen.size >= mostChains || jobs.length >= mostJobs) {
      isCut = true
      break
    }
    seen.add(key)
    const { type, id } = chain
    const limit = mostJobs - jobs.length
    const page = await storage.list({ of: 'jobs', chain: { type, id }, order: 'asc', limit, parts: ['blockers'] })
    if (page.nextCursor !== undefined) isCut = true
    for (const job of page.items) {
      jobs.push(job)
      waiting.push(...(job.blockers ?? []))
    }
  }
  // The chain at the top may be gone, or name a blocker by ref, which has a tree of its own: the job that was asked for is always there.
  if (!jobs.some((job) => keyOf(job) === keyOf(asked))) {
    const own = await storage.list({
      of: 'jobs',
      chain: refOf(asked.chain),
      order: 'asc',
      limit: mostJobs,
      parts: ['blockers'],
    })
    jobs.push(...own.items)
  }
  return { jobs: jobs.map(treeJob), truncated: isCut }
}

const keyOf = ({ type, id }: JobRef): string => JSON.stringify([type, id])
const refOf = ({ type, id }: JobRef): JobRef => ({ type, id })

function treeJob(record: JobRecord): TreeJob {
  const { state, chain, chainIndex, blockers = [], createdAt, startedAt, finishedAt } = record
  return {
    ...named(record),
    state,
    chain: named(chain),
    chainIndex,
    blockers: blockers.map(named),
    createdAt,
    ...(startedAt !== undefined && { startedAt }),
    ...(finishedAt !== undefined && { finishedAt }),
  }
}
