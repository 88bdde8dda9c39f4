// The signals of one call: collected while it runs, and sent after it.

import type { JobEvent, Signal, TopicKind } from '../storage.ts'
import type { EventSource, Job, JobType } from './move.ts'

type Listener = (signal: Signal) => void
type Completed = NonNullable<Signal['completed']>[number]

interface Collected {
  readonly ids: string[]
  readonly events: JobEvent[]
  readonly completed: Completed[]
}

export type Listeners = Readonly<Record<TopicKind, Set<Listener>>>

export const newListeners = (): Listeners => ({ wake: new Set(), done: new Set(), abort: new Set(), events: new Set() })

type Kinds = Partial<Record<TopicKind, Collected>>

/** Of a wake: it has no parts. */
const nothing: Collected = { ids: [], events: [], completed: [] }

export class Signals {
  readonly #crossesProcesses: boolean
  /** Nearly every call is about one type, and needs no map. */
  #first: { readonly type: JobType; readonly kinds: Kinds } | undefined
  #others: Map<JobType, Kinds> | undefined

  /** @param crossesProcesses hints are sent to other processes too: they are collected even without a listener in this one */
  constructor(crossesProcesses = false) {
    this.#crossesProcesses = crossesProcesses
  }

  wake(type: JobType): void {
    if (this.#crossesProcesses || type.listeners.wake.size > 0) this.#of(type, 'wake')
  }

  unwake(type: JobType): void {
    const kinds = this.#first?.type === type ? this.#first.kinds : this.#others?.get(type)
    if (kinds) delete kinds.wake
  }

  done(chain: Job): void {
    const { type, id, token, state, result } = chain
    if (!this.#crossesProcesses && type.listeners.done.size === 0) return
    const { ids, completed } = this.#of(type, 'done')
    ids.push(id)
    // With the result inside a process, where it costs nothing. Between processes the hint must stay small.
    if (!this.#crossesProcesses && state === 'completed' && chain.tail === chain) completed.push({ id, token, result })
  }

  /** done() between processes, where the job itself is not needed. */
  completed({ type, id }: Pick<Job, 'type' | 'id'>): void {
    this.#of(type, 'done').ids.push(id)
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
    const hints: Signal[] = []
    if (this.#first) this.#sendOf(this.#first.type, this.#first.kinds, hints)
    if (this.#others) for (const [type, kinds] of this.#others) this.#sendOf(type, kinds, hints)
    return hints
  }

  #sendOf(type: JobType, kinds: Kinds, hints: Signal[]): void {
    for (const kind in kinds) {
      const signal = signalOf(type.name, kind as TopicKind, kinds[kind as TopicKind]!)
      notify(type.listeners, signal)
      if (this.#crossesProcesses && signal.kind !== 'events') hints.push(signal)
    }
  }

  /** The hints for other processes, for drivers that send them with the commit. */
  hintsForOthers(): Signal[] {
    const hints: Signal[] = []
    if (this.#first) this.#hintsOf(this.#first.type, this.#first.kinds, hints)
    if (this.#others) for (const [type, kinds] of this.#others) this.#hintsOf(type, kinds, hints)
    return hints
  }

  #hintsOf(type: JobType, kinds: Kinds, hints: Signal[]): void {
    for (const kind in kinds) {
      if (kind !== 'events') hints.push(signalOf(type.name, kind as TopicKind, kinds[kind as TopicKind]!))
    }
  }

  #of(type: JobType, kind: TopicKind): Collected {
    const kinds = this.#kindsOf(type)
    return (kinds[kind] ??= kind === 'wake' ? nothing : { ids: [], events: [], completed: [] })
  }

  #kindsOf(type: JobType): Kinds {
    if (!this.#first) this.#first = { type, kinds: {} }
    if (this.#first.type === type) return this.#first.kinds
    this.#others ??= new Map()
    let kinds = this.#others.get(type)
    if (!kinds) this.#others.set(type, (kinds = {}))
    return kinds
  }
}

function signalOf(type: string, kind: TopicKind, { ids, events, completed }: Collected): Signal {
  if (kind === 'wake') return { kind, type }
  if (kind === 'events') return { kind, type, events }
  return completed.length > 0 ? { kind, type, ids, completed } : { kind, type, ids }
}

/** Runs each listener in a microtask of its own, outside the call. */
export function notify(listeners: Listeners, signal: Signal): void {
  for (const listener of listeners[signal.kind]) queueMicrotask(() => listener(signal))
}
