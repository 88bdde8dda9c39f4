// When a type was last resumed.

import type { History } from './entries.ts'

const views = new WeakMap<History, Map<string, number>>()

/** World time of the last resume of the type or of a group of it; 0 if there was none. */
export function lastResumeOf(history: History, type: string): number {
  let view = views.get(history)
  if (!view) {
    view = new Map()
    for (const entry of history.entries) if (entry.what === 'resumed') view.set(entry.type, entry.t)
    views.set(history, view)
  }
  return view.get(type) ?? 0
}
