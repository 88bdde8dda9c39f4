// Where the walks along the lines begin. What was taken leaves a dead entry at the head of the line, which the server drops
// soon; but not while somebody keeps an old transaction open, and then each walk from the head would be longer than the last.
// So it is measured what walks from the head cost: as soon as that is much, they are made for a tenth of the time only, and
// those between begin behind what was taken last. Who comes to stand before that (released to its old place, or committed
// late) is found by the next walk from the head.

import type { Clock } from '../../../clock.ts'
import type { Value } from '../connection/database.ts'
import { arrayOf } from '../rules/text.ts'

/** A claim that walks from the head may take so long, in ms, and so much longer for each job that it takes. */
const [cheapMs, cheapMsPerJob] = [4, 0.1]
/** So many in a row must have been slow: a machine that is busy makes one slow, too. */
const slowInRow = 3
/** Of the time that it took beyond that, so many times over is walked from elsewhere; but not longer than this. */
const [restedFor, longestRestMs] = [9, 10_000]

export interface Place {
  readonly tid: number
  readonly priority: number
  readonly runAt: number
  readonly order: number
}

export class Starts {
  readonly #clock: Clock
  readonly #places = new Map<string, Place>()
  /** By type: no lease that ends by then is left. */
  readonly #leases = new Map<number, number>()
  /** On the clock that never jumps. */
  #restsUntil = 0
  /** Walks from the head in a row that were. */
  #slow = 0
  /** Others told of jobs that wait, and these may stand before where walks begin. */
  isInDoubt = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How long walks do not begin at the head, in ms. */
  get restMs(): number {
    return Math.max(0, this.#restsUntil - this.#clock.monotonic())
  }

  /** Numbers of types, priorities, and where to begin, as arrays; then the first ends of leases to look at, one per type. */
  cells(tids: readonly number[]): Value[] {
    const rests = this.restMs > 0
    const places = rests ? [...this.#places.values()].filter(({ tid }) => tids.includes(tid)) : []
    return [
      arrayOf(places.map(({ tid }) => tid)),
      arrayOf(places.map(({ priority }) => priority)),
      arrayOf(places.map(({ runAt }) => runAt)),
      arrayOf(places.map(({ order }) => order)),
      arrayOf(tids.map((tid) => (rests && this.#leases.get(tid)) || '-Infinity')),
    ]
  }

  /** After a claim. @param places of the jobs that it took @param tookMs on the server @param fromHead it began there */
  took(tids: readonly number[], now: number, places: readonly Place[], tookMs: number, fromHead: boolean): void {
    for (const place of places) {
      const last = this.#places.get(nameOf(place))
      if (!last || fromHead || isBefore(last, place)) this.#places.set(nameOf(place), place)
    }
    for (const tid of tids) this.#leases.set(tid, now)
    if (!fromHead) return
    this.isInDoubt = false
    const excessMs = tookMs - cheapMs - cheapMsPerJob * places.length
    this.#slow = excessMs > 0 ? this.#slow + 1 : 0
    const rests = this.#slow >= slowInRow
    this.#restsUntil = rests ? this.#clock.monotonic() + Math.min(restedFor * excessMs, longestRestMs) : 0
  }

  /** Somebody has come to stand here. */
  stands(place: Place): void {
    const last = this.#places.get(nameOf(place))
    // Maybe in the very place that it had.
    if (last && !isBefore(last, place)) this.#places.delete(nameOf(place))
  }
}

const nameOf = ({ tid, priority }: Place): string => `${tid}/${priority}`

const isBefore = (a: Place, b: Place): boolean => (a.runAt === b.runAt ? a.order < b.order : a.runAt < b.runAt)
