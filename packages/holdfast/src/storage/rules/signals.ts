// The signals of one call: collected while it runs, and sent after it.

import type { JobEvent, Signal, TopicKind } from '../storage.ts'
import type { EventSource, Job, JobType } from './move.ts'

type Listener = (signal: Signal) => void
export type Listeners = Readonly<Record<TopicKind, Set<Listener>>>

export const newListeners = (): Listeners => ({ wake: new Set(), done: new Set(), abort: new Set(), events: new Set() })

export class Signals {
  readonly #crossesProcesses: boolean
  #collected: Map<JobType, Partial<Record<TopicKind, { ids: string[]; events: JobEvent[] }>>> | undefined

  /** @param crossesProcesses hints are sent to other processes too: they are collected even without a listener in this one */
  constructor(crossesProcesses = false) {
    this.#crossesProcesses = crossesProcesses
  }

  wake(type: JobType): void {
    if (this.#crossesProcesses || type.listeners.wake.size > 0) this.#of(type, 'wake')
  }

  unwake(type: JobType): void {
    const kinds = this.#collected?.get(type)
    if (kinds) delete kinds.wake
  }

  done({ type, id }: Job): void {
    if (this.#crossesProcesses || type.listeners.done.size > 0) this.#of(type, 'done').ids.push(id)
  }

  abort({ type, id }: Job): void {
    if (this.#crossesProcesses || type.listeners.abort.size > 0) this.#of(type, 'abort').ids.push(id)
  }

  event({ type, id, lease }: EventSource, event: JobEvent['event'], attempt: number, at: number): void {
    if (type.listeners.events.size === 0) return
    const entry = { event, id, attempt, at }
    this.#of(type, 'events').events.push(lease?.label === undefined ? entry : { ...entry, label: lease.label })
  }

  /** Notifies the listeners of this process. Returns the hints for other processes. */
  send(): Signal[] {
    if (!this.#collected) return []
    const hints: Signal[] = []
    for (const [{ listeners }, signal] of this.#signals()) {
      notify(listeners, signal)
      if (this.#crossesProcesses && signal.kind !== 'events') hints.push(signal)
    }
    return hints
  }

  /** The hints for other processes, for drivers that send them with the commit. */
  hintsForOthers(): Signal[] {
    return [...this.#signals()].flatMap(([, signal]) => (signal.kind === 'events' ? [] : [signal]))
  }

  *#signals(): Iterable<[JobType, Signal]> {
    for (const [type, kinds] of this.#collected ?? []) {
      for (const [kind, { ids, events }] of Object.entries(kinds)) {
        const topic = { kind: kind as TopicKind, type: type.name }
        yield [type, kind === 'wake' ? topic : kind === 'events' ? { ...topic, events } : { ...topic, ids }]
      }
    }
  }

  #of(type: JobType, kind: TopicKind): { ids: string[]; events: JobEvent[] } {
    this.#collected ??= new Map()
    let kinds = this.#collected.get(type)
    if (!kinds) this.#collected.set(type, (kinds = {}))
    return (kinds[kind] ??= { ids: [], events: [] })
  }
}

/** Runs each listener in a microtask of its own, outside the call. */
export function notify(listeners: Listeners, signal: Signal): void {
  for (const listener of listeners[signal.kind]) queueMicrotask(() => listener(signal))
}
