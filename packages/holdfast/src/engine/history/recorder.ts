// Counts what a worker did, and adds it to the rollups of all workers: at most once in 10 s, and only if there is something. Lossy by design:
// a crash loses at most 10 s of it, and no job ever waits for it.

import type { Clock, Timer } from '../../clock.ts'
import type { KeyValue } from '../../storage/kv.ts'
import type { EngineEvent } from '../events.ts'
import {
  countInto,
  decodeRollup,
  encodeRollup,
  merge,
  type Rollup,
  type SpanName,
  spanKey,
  spans,
  tallyOf,
} from './rollup.ts'

/** Shortest time between two writes, in ms. */
const everyMs = 10_000
/** Other workers write the same entries. After so many lost races, the figures of a span wait for the next write. */
const mostTries = 5

export interface HistoryRecorderOptions {
  readonly kv: Pick<KeyValue, 'get' | 'cas'>
  readonly clock: Clock
}

export class HistoryRecorder {
  readonly #options: HistoryRecorderOptions
  #pending: Rollup = new Map()
  /** What lost its races, by span: it is written with what comes next. */
  readonly #owed: Record<SpanName, Rollup> = { minute: new Map(), hour: new Map() }
  #timer: Timer | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(options: HistoryRecorderOptions) {
    this.#options = options
  }

  count(event: EngineEvent): void {
    switch (event.name) {
      case 'completed':
      case 'failing':
      case 'failed': {
        const tally = tallyOf(this.#pending, event.type)
        tally[event.name === 'failing' ? 'retried' : event.name]++
        const { job, durationMs } = event
        if (job) countInto(tally.wait, Math.max(0, job.startedAt - job.runAt))
        if (durationMs !== undefined) {
          countInto(tally.run, durationMs)
          tally.ranMs += Math.round(durationMs)
        }
        break
      }
      case 'stalled':
      case 'cancelled':
        tallyOf(this.#pending, event.type)[event.name]++
        break
      default:
        return
    }
    this.#timer ??= this.#options.clock.after(everyMs, () => void this.flush(), { keepsAlive: false })
  }

  /** Writes what was counted. Never rejects. */
  flush(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  async #write(): Promise<void> {
    const counted = this.#pending
    if (counted.size === 0) return
    this.#pending = new Map()
    const now = this.#options.clock.now()
    try {
      await Promise.all((Object.keys(spans) as SpanName[]).map((span) => this.#merge(span, now, counted)))
    } catch {
      // The guard of the storage tells its failures. What was counted is lost: to repeat it could count it twice.
    }
  }

  async #merge(span: SpanName, now: number, counted: Rollup): Promise<void> {
    const { kv } = this.#options
    const key = spanKey(span, now)
    const ttlMs = spans[span].keptMs
    const own = this.#owed[span]
    this.#owed[span] = new Map()
    merge(own, counted)
    for (let tries = 0; tries < mostTries; tries++) {
      const before = await kv.get(key)
      const sum: Rollup = (before && decodeRollup(before)) ?? new Map()
      merge(sum, own)
      if (await kv.cas(key, before, encodeRollup(sum), { ttlMs })) return
    }
    this.#owed[span] = own
  }
}
