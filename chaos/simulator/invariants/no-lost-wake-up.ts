// L5: without any hint, a due job is claimed by an idle worker within one poll interval.

import type { Invariant, Violation } from '../history/entries.ts'
import { jobsOf, keyOf, violation } from '../history/jobs.ts'

export const noLostWakeUp: Invariant = {
  name: 'L5',
  title: 'no wake-up is lost',
  check(history) {
    const found: Violation[] = []
    const last = history.entries.at(-1)?.t ?? 0
    for (const probe of history.entries) {
      if (probe.what !== 'probed') continue
      const changes = (jobsOf(history).get(keyOf(probe)) ?? []).filter(({ t }) => t >= probe.t)
      const claimed = changes.find(({ what }) => what === 'claimed')
      const tookMs = (claimed?.t ?? last) - probe.t
      if (tookMs > probe.withinMs)
        found.push(violation('L5', `${keyOf(probe)} waited ${tookMs} ms for an idle worker`, [probe, ...changes]))
    }
    return found
  },
}
