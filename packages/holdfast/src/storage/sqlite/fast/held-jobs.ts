// The jobs that fast claims have leased: what their ends need, instead of whole rows.
//
// Invariant: the row of a job is as its claim wrote it, or left it if the claim is open. Before the rules read the row into an object, which
// they may change, the job is taken out (rules/job-rows.ts). A commit of another connection, or a rollback, takes out all.
//
// Found by the worker, which is new with each claim, and then by position: a Map of ids makes V8 look up each id in its table of all
// strings, which took a tenth of the time of a claim and its settle.

import type { Lease } from '../../rules/move.ts'
import type { LeaseRef } from '../../storage.ts'
import type { SqliteJob } from '../rules/job.ts'
import type { OpenClaim } from '../rules/open-claims.ts'
import type { SqliteType } from '../rules/type.ts'

export interface HeldJob {
  readonly type: SqliteType
  readonly id: string
  readonly seq: number
  readonly lease: Lease
  /** Undefined: its row has the lease. */
  readonly claim: OpenClaim | undefined
  readonly attempt: number
  readonly failures: number
  /** How long its record is kept if it completes. */
  readonly keepMs: number
  readonly runAt: number
  /** It has fields that few jobs have. */
  readonly hasMore: boolean
}

interface HeldClaim {
  /** Undefined: taken out. */
  readonly jobs: (HeldJob | undefined)[]
  /** No job before this position is left. */
  first: number
  left: number
  /** Positions, if outcomes come in another order than the jobs. */
  byId: Map<string, number> | undefined
}

/** A job further from the first one is found by its id. */
const mostSteps = 32

export class HeldJobs {
  readonly #byWorker = new Map<string, HeldClaim>()

  /** @param jobs of one worker */
  add(worker: string, jobs: readonly HeldJob[]): void {
    const claim = this.#byWorker.get(worker)
    const all = claim ? [...claim.jobs.filter((job) => job !== undefined), ...jobs] : [...jobs]
    this.#byWorker.set(worker, { jobs: all, first: 0, left: all.length, byId: undefined })
  }

  /** The job that this lease holds. */
  find(ref: LeaseRef): HeldJob | undefined {
    const claim = this.#byWorker.get(ref.worker)
    const job = claim?.jobs[positionOf(claim, ref)]
    return job && job.type.name === ref.type && job.attempt === ref.attempt ? job : undefined
  }

  /** Takes out a job that find() has found. */
  take({ lease, seq, id }: HeldJob): void {
    const claim = this.#byWorker.get(lease.worker)!
    let at = positionOf(claim, { id })
    // Jobs of two types may have one id.
    if (claim.jobs[at]?.seq !== seq) at = claim.jobs.findIndex((job) => job?.seq === seq)
    this.#takeOut(lease.worker, claim, at)
  }

  /** Takes out a job that the rules have read. */
  release({ lease, accepted }: SqliteJob): void {
    const claim = lease && this.#byWorker.get(lease.worker)
    if (!claim) return
    for (let at = claim.first; at < claim.jobs.length; at++) {
      if (claim.jobs[at]?.seq === accepted) return this.#takeOut(lease.worker, claim, at)
    }
  }

  clear(): void {
    this.#byWorker.clear()
  }

  #takeOut(worker: string, claim: HeldClaim, at: number): void {
    claim.jobs[at] = undefined
    claim.left--
    while (claim.left > 0 && claim.jobs[claim.first] === undefined) claim.first++
    if (claim.left === 0) this.#byWorker.delete(worker)
  }
}

/** -1: there is none. Workers end jobs nearly in the order in which they have claimed them. */
function positionOf(claim: HeldClaim, { id }: { readonly id: string }): number {
  const { jobs, first } = claim
  const near = Math.min(first + mostSteps, jobs.length)
  for (let at = first; at < near; at++) if (jobs[at]?.id === id) return at
  if (near === jobs.length) return -1
  claim.byId ??= new Map(jobs.flatMap((job, at) => (job ? [[job.id, at]] : [])))
  return claim.byId.get(id) ?? -1
}
