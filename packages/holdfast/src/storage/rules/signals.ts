// The hints of one call: gathered while it runs, sent once it is done.

import type { JobEvent, Signal, TopicKind } from '../storage.ts'
import type { Job, JobType } from './move.ts'

type Listener = (signal: Signal) => void
export type Listeners = Readonly<Record<TopicKind, Set<Listener>>>

export const newListeners = (): Listeners => ({ wake: new Set(), done: new Set(), abort: new Set(), events: new Set() })

export class Signals {
  readonly #crossesProcesses: boolean
  #gathered: Map<JobType, Partial<Record<TopicKind, { ids: string[]; events: JobEvent[] }>>> | undefined

  /** @param crossesProcesses hints are for other processes too, so it does not matter whether anybody listens in this one */
  constructor(crossesProcesses = false) {
    this.#crossesProcesses = crossesProcesses
  }

  wake(type: JobType): void {
    if (this.#crossesProcesses || type.listeners.wake.size > 0) this.#of(type, 'wake')
  }

  done({ type, id }: Job): void {
    if (this.#crossesProcesses || type.listeners.done.size > 0) this.#of(type, 'done').ids.push(id)
  }

  abort({ type, id }: Job): void {
    if (this.#crossesProcesses || type.listeners.abort.size > 0) this.#of(type, 'abort').ids.push(id)
  }

  event({ type, id, lease }: Job, event: JobEvent['event'], attempt: number, at: number): void {
    if (type.listeners.events.size === 0) return
    const entry = { event, id, attempt, at }
    this.#of(type, 'events').events.push(lease?.label === undefined ? entry : { ...entry, label: lease.label })
  }

  /** Tells the listeners in this process. Answers with what others should hear. */
  send(): Signal[] {
    const hints: Signal[] = []
    for (const [{ listeners }, signal] of this.#signals()) {
      notify(listeners, signal)
      if (this.#crossesProcesses && signal.kind !== 'events') hints.push(signal)
    }
    return hints
  }

  /** What others should hear, where that must be said before the commit. */
  hintsForOthers(): Signal[] {
    return [...this.#signals()].flatMap(([, signal]) => (signal.kind === 'events' ? [] : [signal]))
  }

  *#signals(): Iterable<[JobType, Signal]> {
    for (const [type, kinds] of this.#gathered ?? []) {
      for (const [kind, { ids, events }] of Object.entries(kinds)) {
        const topic = { kind: kind as TopicKind, type: type.name }
        yield [type, kind === 'wake' ? topic : kind === 'events' ? { ...topic, events } : { ...topic, ids }]
      }
    }
  }

  #of(type: JobType, kind: TopicKind): { ids: string[]; events: JobEvent[] } {
    this.#gathered ??= new Map()
    let kinds = this.#gathered.get(type)
    if (!kinds) this.#gathered.set(type, (kinds = {}))
    return (kinds[kind] ??= { ids: [], events: [] })
  }
}

/** Each on its own, and outside of the call. */
export function notify(listeners: Listeners, signal: Signal): void {
  for (const listener of listeners[signal.kind]) queueMicrotask(() => listener(signal))
}
