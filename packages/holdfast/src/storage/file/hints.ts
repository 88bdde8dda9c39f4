// Who listens in this process, and what is to be said: hints of own calls once they are committed, hints that came with the
// commits of others, and the events of own calls.

import type { SignalSink } from '../memory/move.ts'
import type { Job, JobType } from '../rules/move.ts'
import type { JobEvent, Signal, Topic, TopicKind } from '../storage.ts'
import type { Hint } from './log/lines.ts'

type Listener = (signal: Signal) => void

export class Listeners {
  readonly #byKind: Readonly<Record<TopicKind, Map<string, Set<Listener>>>> = {
    wake: new Map(),
    done: new Map(),
    abort: new Map(),
    events: new Map(),
  }
  size = 0

  add(topics: readonly Topic[], listener: Listener): void {
    for (const { kind, type } of topics) {
      let set = this.#byKind[kind].get(type)
      if (!set) this.#byKind[kind].set(type, (set = new Set()))
      set.add(listener)
    }
    this.size++
  }

  delete(topics: readonly Topic[], listener: Listener): void {
    for (const { kind, type } of topics) {
      const set = this.#byKind[kind].get(type)
      set?.delete(listener)
      if (set?.size === 0) this.#byKind[kind].delete(type)
    }
    this.size--
  }

  has(kind: TopicKind, type: string): boolean {
    return this.#byKind[kind].has(type)
  }

  tell(signal: Signal): void {
    for (const listener of this.#byKind[signal.kind].get(signal.type) ?? []) queueMicrotask(() => listener(signal))
  }
}

/** What one call says. */
export class CallSignals implements SignalSink {
  readonly #listeners: Listeners
  readonly #wake = new Set<string>()
  readonly #done = new Map<string, string[]>()
  readonly #abort = new Map<string, string[]>()
  readonly #events = new Map<string, JobEvent[]>()

  constructor(listeners: Listeners) {
    this.#listeners = listeners
  }

  wake({ name }: JobType): void {
    this.#wake.add(name)
  }

  done({ type, id }: Job): void {
    push(this.#done, type.name, id)
  }

  abort({ type, id }: Job): void {
    push(this.#abort, type.name, id)
  }

  event({ type, id, lease }: Job, event: JobEvent['event'], attempt: number, at: number): void {
    if (!this.#listeners.has('events', type.name)) return
    const entry = { event, id, attempt, at }
    push(this.#events, type.name, lease?.label === undefined ? entry : { ...entry, label: lease.label })
  }

  /** For those who listen elsewhere. */
  hints(): Hint[] {
    const hints: Hint[] = []
    for (const type of this.#wake) hints.push({ kind: 'wake', type })
    for (const [type, ids] of this.#done) hints.push({ kind: 'done', type, ids })
    for (const [type, ids] of this.#abort) hints.push({ kind: 'abort', type, ids })
    return hints
  }

  /** To those who listen here. */
  send(): void {
    for (const hint of this.hints()) this.#listeners.tell(hint)
    for (const [type, events] of this.#events) this.#listeners.tell({ kind: 'events', type, events })
  }
}

function push<T>(map: Map<string, T[]>, key: string, item: T): void {
  const list = map.get(key)
  if (list) list.push(item)
  else map.set(key, [item])
}
