// Open claims: fast claims whose leases are not in the rows of their jobs. A claim is one row, with the numbers of its jobs; the end of a
// job is the first write of its row. So a job is written once after its add, not twice.
//
// Invariant: the row of a job in an open claim is that of a queued job which is ready. What reads such rows counts the claim: a fast claim
// begins behind them, an object has the lease, and an index is searched after the claims are written out, or without their jobs.

import type { Lease } from '../../rules/move.ts'
import { stateCodes } from '../../rules/job/codes.ts'
import type { Statements } from '../connection/statements.ts'
import { runOn } from '../fast/seqs.ts'
import { instant, type Row } from './job.ts'

export interface OpenClaim {
  readonly cid: number
  readonly tid: number
  readonly priority: number
  /** The position of its last job among those that are ready, with this priority. */
  readonly last: readonly [runAt: number, order: number]
  readonly lease: Lease
  /** The jobs that it still holds. */
  readonly seqs: Set<number>
}

type ClaimRow = [
  cid: number,
  tid: number,
  priority: number,
  runAt: number,
  order: number,
  worker: string,
  label: string | null,
  startedAt: number,
  until: number,
  seqs: string,
]

/** Beyond them, a claim has its leases in the rows: to find the claim of a job, all of them are looked through. */
const mostClaims = 100

export class OpenClaims {
  readonly #statements: Statements
  /** By their numbers, with those that have become empty in this transaction. Undefined: not read. */
  #claims: Map<number, OpenClaim> | undefined
  #last = 0
  readonly #changed = new Set<OpenClaim>()

  constructor(statements: Statements) {
    this.#statements = statements
  }

  // ── read ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  get isEmpty(): boolean {
    return this.#all().size === 0
  }

  get isFull(): boolean {
    return this.#all().size >= mostClaims
  }

  *ofType({ tid }: { readonly tid: number }): Generator<OpenClaim> {
    for (const claim of this.#all().values()) if (claim.tid === tid && claim.seqs.size > 0) yield claim
  }

  /** The claim that holds a job. */
  of(seq: number): OpenClaim | undefined {
    for (const claim of this.#all().values()) if (claim.seqs.has(seq)) return claim
    return undefined
  }

  countOf(type: { readonly tid: number }): number {
    let count = 0
    for (const { seqs } of this.ofType(type)) count += seqs.size
    return count
  }

  firstEnd(type: { readonly tid: number }): number {
    let first = Infinity
    for (const { lease } of this.ofType(type)) first = Math.min(first, instant(lease.until))
    return first
  }

  // ── change ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** In the row of a claim that this transaction has ended, if there is one. */
  open(fields: Omit<OpenClaim, 'cid'>): OpenClaim {
    const claims = this.#all()
    let ended: OpenClaim | undefined
    for (const other of this.#changed) if (other.seqs.size === 0) ended = other
    if (ended) this.#changed.delete(ended)
    const claim = { ...fields, cid: ended?.cid ?? ++this.#last }
    claims.set(claim.cid, claim)
    this.#changed.add(claim)
    return claim
  }

  /** False: it is not in the claim any more, and its row has the lease. */
  take(claim: OpenClaim, seq: number): boolean {
    if (!claim.seqs.delete(seq)) return false
    this.#changed.add(claim)
    return true
  }

  // ── write ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  flush(): void {
    if (this.#changed.size === 0) return
    const { setOpenClaim, eraseOpenClaim } = this.#statements
    const claims = this.#all()
    const ended: OpenClaim[] = []
    const left: OpenClaim[] = []
    for (const claim of this.#changed) (claim.seqs.size === 0 ? ended : left).push(claim)
    this.#changed.clear()
    for (const { cid } of ended) claims.delete(cid)
    for (const claim of left) setOpenClaim.run(...cellsOf(claim))
    for (const { cid } of ended) eraseOpenClaim.run(cid)
  }

  /** Writes all leases into the rows of the jobs: the indexes have these jobs at their places then. */
  writeOut(): void {
    if (this.isEmpty) return
    const { leaseRange: range, leaseList: list, eraseOpenClaims } = this.#statements
    const claims = this.#all()
    for (const { lease, seqs } of claims.values()) {
      const { worker, label = null, startedAt, until } = lease
      if (seqs.size > 0) runOn({ range, list }, [worker, label, startedAt, instant(until)], [...seqs])
      // What holds the claim learns it.
      seqs.clear()
    }
    claims.clear()
    this.#changed.clear()
    eraseOpenClaims.run()
  }

  /** Before a transaction that follows a rollback or a commit of another connection. */
  forget(): void {
    this.#claims = undefined
    this.#changed.clear()
  }

  #all(): Map<number, OpenClaim> {
    if (this.#claims) return this.#claims
    this.#claims = new Map()
    this.#last = 0
    for (const row of this.#statements.openClaims.all() as unknown as ClaimRow[]) {
      const [cid, tid, priority, runAt, order, worker, label, startedAt, until, seqs] = row
      const lease = { worker, label: label ?? undefined, startedAt, until }
      const numbers = new Set(JSON.parse(seqs) as number[])
      this.#claims.set(cid, { cid, tid, priority, last: [runAt, order], lease, seqs: numbers })
      this.#last = cid
    }
    return this.#claims
  }
}

function cellsOf({ cid, tid, priority, last, lease, seqs }: OpenClaim): ClaimRow {
  const { worker, label = null, startedAt, until } = lease
  return [
    cid,
    tid,
    priority,
    instant(last[0]),
    last[1],
    worker,
    label,
    startedAt,
    instant(until),
    `[${[...seqs].join()}]`,
  ]
}

/** The row of a job as it is once the claim is written out. */
export function withLease(row: Row, { lease }: OpenClaim): Row {
  const leased = [...row]
  leased[4] = stateCodes.processing
  leased[5] = (row[5] as number) + 1
  leased[14] = null
  leased[15] = lease.worker
  leased[16] = lease.label ?? null
  leased[17] = lease.startedAt
  leased[18] = instant(lease.until)
  return leased
}
