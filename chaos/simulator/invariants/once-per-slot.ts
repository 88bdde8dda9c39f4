// S21: a slot of a schedule has at most one job, however many processes fire it.

import type { Invariant, Violation } from '../history/entries.ts'
import { isAdd, violation } from '../history/jobs.ts'

const slot = /^schedule\/(\d+)\/[^/]*\/(.*)$/

export const oncePerSlot: Invariant = {
  name: 'S21',
  title: 'once per slot',
  check({ entries }) {
    const fired = new Map<string, (typeof entries)[number]>()
    const found: Violation[] = []
    for (const entry of entries.filter(isAdd)) {
      const [, at, name] = slot.exec(entry.token) ?? []
      if (at === undefined) continue
      const key = `${entry.type} ${name} ${at}`
      const first = fired.get(key)
      if (first) found.push(violation('S21', `${key} has two jobs`, [first, entry]))
      else fired.set(key, entry)
    }
    return found
  },
}
