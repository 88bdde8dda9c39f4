// Where scans of the rings of groups begin. A group that leaves its place in the ring leaves a dead entry in the index, until the
// server vacuums the table. A scan from the head passes all of them: 10,000 groups that became full cost each claim 0.5 ms.
//
// A group enters the ring at the time of its transaction, or later (atTheEarliest in storage/rules/job/wait.ts). So a scan may begin
// at the first entry that an earlier scan from the head has seen, or at the longest time that a transaction takes before that
// scan. An entry of a transaction that took longer is found by the next scan from the head.

/** How long a transaction that puts a group into the ring may take, and how long a scan from the head counts, in ms. */
const [slackMs, againMs] = [10_000, 10_000]

export class RingCursor {
  readonly #starts = new Map<number, { readonly from: number; readonly scannedAt: number }>()

  /** The first `turn_at` to read. -Infinity: the scan begins at the head. @param now by the server's clock */
  startOf(tid: number, now: number): number {
    const start = this.#starts.get(tid)
    // The server's clock may have been set back.
    return start && start.scannedAt <= now && now < start.scannedAt + againMs ? start.from : -Infinity
  }

  /** A scan has begun at the head. @param first `turn_at` of the first group of the ring, locked or not; Infinity: it is empty */
  onScanned(tid: number, now: number, first: number): void {
    this.#starts.set(tid, { from: Math.min(first, now - slackMs), scannedAt: now })
  }

  /** A claim found nothing: the next scan begins at the head. */
  forget(tid: number): void {
    this.#starts.delete(tid)
  }
}
