// The hints of one call: gathered for those who listen, sent once the call is done.

import type { JobEvent, Signal, TopicKind } from '../storage.ts'
import type { Job, TypeData } from './data.ts'

export class Signals {
  #gathered: Map<TypeData, Partial<Record<TopicKind, { ids: string[]; events: JobEvent[] }>>> | undefined

  wake(type: TypeData): void {
    if (type.listeners.wake.size > 0) this.#of(type, 'wake')
  }

  done(chain: Job): void {
    if (chain.type.listeners.done.size > 0) this.#of(chain.type, 'done').ids.push(chain.id)
  }

  abort(job: Job): void {
    if (job.type.listeners.abort.size > 0) this.#of(job.type, 'abort').ids.push(job.id)
  }

  event({ type, id, lease }: Job, event: JobEvent['event'], attempt: number, at: number): void {
    if (type.listeners.events.size === 0) return
    const entry = { event, id, attempt, at }
    this.#of(type, 'events').events.push(lease?.label === undefined ? entry : { ...entry, label: lease.label })
  }

  send(): void {
    if (!this.#gathered) return
    for (const [type, kinds] of this.#gathered) {
      for (const [kind, { ids, events }] of Object.entries(kinds)) {
        const topic = { kind: kind as TopicKind, type: type.name }
        const signal: Signal = kind === 'wake' ? topic : kind === 'events' ? { ...topic, events } : { ...topic, ids }
        for (const listener of type.listeners[topic.kind]) queueMicrotask(() => listener(signal))
      }
    }
  }

  #of(type: TypeData, kind: TopicKind): { ids: string[]; events: JobEvent[] } {
    this.#gathered ??= new Map()
    let kinds = this.#gathered.get(type)
    if (!kinds) this.#gathered.set(type, (kinds = {}))
    return (kinds[kind] ??= { ids: [], events: [] })
  }
}
