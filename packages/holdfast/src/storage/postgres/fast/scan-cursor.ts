// Where the index scans of claims begin. A claimed job leaves a dead entry at the head of the index, which the server removes soon;
// but not while an old transaction stays open, and then each scan from the head takes longer than the last.
//
// So the cost of scans from the head is measured. Once it is high, they are made for a tenth of the time only; the scans between
// begin behind the last job that was claimed. A job that arrives before that position (released to its old place, or committed
// late) is found by the next scan from the head.

import type { Clock } from '../../../clock.ts'
import type { Value } from '../connection/database.ts'
import { arrayOf } from '../sql/text.ts'

/** A claim that scans from the head may take this long, in ms, plus this for each job that it takes. */
const [cheapMs, cheapMsPerJob] = [4, 0.1]
/** So many scans in a row must have been slow: on a busy machine a single one may be slow by chance. */
const slowInRow = 3
/** The cursor is used for this many times the excess, but not longer than this, in ms. */
const [excessFactor, maxActiveMs] = [9, 10_000]

export interface ScanPosition {
  readonly tid: number
  readonly priority: number
  readonly runAt: number
  readonly order: number
}

export class ScanCursor {
  readonly #clock: Clock
  readonly #positions = new Map<string, ScanPosition>()
  /** By type: no lease that ends by then is left. */
  readonly #leasesFrom = new Map<number, number>()
  /** By the monotonic clock. */
  #activeUntil = 0
  /** Slow scans from the head in a row. */
  #slowScans = 0
  /** Other processes sent hints: jobs may have arrived before the cursor. */
  mayHaveMissed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How much longer scans begin at the cursor, in ms. 0: they begin at the head. */
  get activeMs(): number {
    return Math.max(0, this.#activeUntil - this.#clock.monotonic())
  }

  /** Parameters of a statement: types, priorities and positions as four arrays; then the first lease end to look at per type. */
  params(tids: readonly number[]): Value[] {
    const isActive = this.activeMs > 0
    const positions = isActive ? [...this.#positions.values()].filter(({ tid }) => tids.includes(tid)) : []
    return [
      arrayOf(positions.map(({ tid }) => tid)),
      arrayOf(positions.map(({ priority }) => priority)),
      arrayOf(positions.map(({ runAt }) => runAt)),
      arrayOf(positions.map(({ order }) => order)),
      arrayOf(tids.map((tid) => (isActive && this.#leasesFrom.get(tid)) || '-Infinity')),
    ]
  }

  /**
   * Call it after a claim.
   * @param positions of the claimed jobs
   * @param tookMs time on the server
   * @param fromHead the scan began at the head
   */
  onClaimed(
    tids: readonly number[],
    now: number,
    positions: readonly ScanPosition[],
    tookMs: number,
    fromHead: boolean,
  ): void {
    for (const position of positions) {
      const last = this.#positions.get(nameOf(position))
      if (!last || fromHead || isBefore(last, position)) this.#positions.set(nameOf(position), position)
    }
    for (const tid of tids) this.#leasesFrom.set(tid, now)
    if (!fromHead) return
    this.mayHaveMissed = false
    const excessMs = tookMs - cheapMs - cheapMsPerJob * positions.length
    this.#slowScans = excessMs > 0 ? this.#slowScans + 1 : 0
    const isActive = this.#slowScans >= slowInRow
    this.#activeUntil = isActive ? this.#clock.monotonic() + Math.min(excessFactor * excessMs, maxActiveMs) : 0
  }

  /** Call it when a job became claimable at this position. */
  onArrival(position: ScanPosition): void {
    const last = this.#positions.get(nameOf(position))
    // Not isBefore(position, last): a released job returns to the very position of the cursor.
    if (last && !isBefore(last, position)) this.#positions.delete(nameOf(position))
  }

  /** Call it when a job became claimable at a position that is not known. */
  forget(tid: number, priority: number): void {
    this.#positions.delete(nameOf({ tid, priority }))
  }
}

const nameOf = ({ tid, priority }: Pick<ScanPosition, 'tid' | 'priority'>): string => `${tid}/${priority}`

const isBefore = (a: ScanPosition, b: ScanPosition): boolean =>
  a.runAt === b.runAt ? a.order < b.order : a.runAt < b.runAt
