// One call in progress, a move or a read: its instant, and the hints that leave once it is done.

import type { JobEvent, JobRef, Signal, TopicKind } from '../storage.ts'
import type { Data, Job, TypeData } from './data.ts'

export class Move {
  readonly data: Data
  readonly now: number
  #signals: Map<TypeData, Partial<Record<TopicKind, { ids: string[]; events: JobEvent[] }>>> | undefined

  #kept: Set<Job> | undefined

  constructor(data: Data, now: number) {
    this.data = data
    this.now = now
  }

  wake(type: TypeData): void {
    if (type.listeners.wake.size > 0) this.#signal(type, 'wake')
  }

  /** The chain of this job ended, or is gone. */
  done({ chain }: Job): void {
    if (chain.type.listeners.done.size > 0) this.#signal(chain.type, 'done').ids.push(chain.id)
  }

  abort(job: Job): void {
    if (job.type.listeners.abort.size > 0) this.#signal(job.type, 'abort').ids.push(job.id)
  }

  event(job: Job, event: JobEvent['event'], attempt: number): void {
    if (job.type.listeners.events.size === 0) return
    const entry = { event, id: job.id, attempt, at: this.now }
    const label = job.lease?.label
    this.#signal(job.type, 'events').events.push(label === undefined ? entry : { ...entry, label })
  }

  /** The job of a ref, unless its time is over. */
  find(ref: JobRef): Job | undefined {
    const job = this.data.types.get(ref.type)?.jobs.get(ref.id)
    return job && this.isGone(job) ? undefined : job
  }

  /** The chain has ended, its time is over, and nobody needs it: absent for everyone, swept or not. */
  isGone({ chain }: Job): boolean {
    return chain.expiry <= this.now && !chain.dependents?.size && !this.#kept?.has(chain)
  }

  /** What was there when the call began to name it stays to its end, even if it is kept for 0 ms. */
  keep({ chain }: Job): void {
    ;(this.#kept ??= new Set()).add(chain)
  }

  /** Sends the hints, after the move and outside of it. */
  flush(): void {
    if (!this.#signals) return
    for (const [type, kinds] of this.#signals) {
      for (const [kind, { ids, events }] of Object.entries(kinds)) {
        const topic = { kind: kind as TopicKind, type: type.name }
        const signal: Signal = kind === 'wake' ? topic : kind === 'events' ? { ...topic, events } : { ...topic, ids }
        for (const listener of type.listeners[topic.kind]) queueMicrotask(() => listener(signal))
      }
    }
  }

  #signal(type: TypeData, kind: TopicKind): { ids: string[]; events: JobEvent[] } {
    this.#signals ??= new Map()
    let kinds = this.#signals.get(type)
    if (!kinds) this.#signals.set(type, (kinds = {}))
    return (kinds[kind] ??= { ids: [], events: [] })
  }
}
