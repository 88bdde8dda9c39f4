// Numbers of waiting jobs, for adds with a largest depth. To count them takes longer the more there are, so it is done once a second:
// in between, a bound is enough as long as it is far below the largest depth.
//
// The bound. A job that waits now waited or ran when they were counted, or has taken a number of the sequence since: new jobs and
// revived ones do. A job that a transaction without a largest depth added, and committed after the count, is not in the bound, as
// it would not have been in a count at its add.

import type { Clock } from '../../../clock.ts'
import { arrayOf } from '../sql/text.ts'
import type { Loader } from './loader.ts'

/** How long a count is used, in ms. */
const countForMs = 1_000

interface Count {
  /** Jobs that waited or ran. */
  readonly live: number
  /** The last number of the sequence before the count. */
  readonly number: number
}

/** The last counts of this process, by type. */
export class DepthCounts {
  readonly #clock: Clock
  readonly #counts = new Map<number, Count & { readonly at: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The largest possible number of waiting jobs. Undefined: they must be counted. @param number the last one of the sequence now */
  boundOf(tid: number, number: number): number | undefined {
    const count = this.#counts.get(tid)
    if (!count || number < count.number || this.#clock.monotonic() >= count.at + countForMs) return undefined
    return count.live + number - count.number
  }

  onCounted(tid: number, count: Count): void {
    this.#counts.set(tid, { ...count, at: this.#clock.monotonic() })
  }
}

/** By statements that begin when no other call can add to the types within a largest depth. */
export async function loadDepths({ connection, loaded, statements, depths }: Loader): Promise<void> {
  const wanted = [...loaded.wanted.depths].filter(([tid]) => !loaded.depths.has(tid))
  if (wanted.length === 0) return
  await connection.query(statements.lockDepths, [arrayOf(wanted.map(([tid]) => tid))])
  const number = Number((await connection.query(statements.lastNumber, []))[0]![0])
  const counted: number[] = []
  for (const [tid, fits] of wanted) {
    const bound = depths.boundOf(tid, number)
    if (bound !== undefined && bound <= fits) loaded.depths.set(tid, bound)
    else counted.push(tid)
  }
  if (counted.length === 0) return
  for (const [tid, waiting, running] of await connection.query(statements.depths, [arrayOf(counted)])) {
    loaded.depths.set(Number(tid), Number(waiting))
    depths.onCounted(Number(tid), { live: Number(waiting) + Number(running), number })
  }
}
