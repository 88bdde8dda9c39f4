// Schedules that no process fires.

import type { Clock } from '../../clock.ts'
import type { Finding } from '../../storage/storage.ts'
import { clockTime, typeText } from '../explain/sentence.ts'
import type { GuardedStorage } from '../guard.ts'
import { instantsOf } from '../schedule/rule.ts'
import { scheduleOwners, ScheduleStore } from '../schedule/schedule-store.ts'
import { StorageTime } from '../schedule/storage-time.ts'

export async function scheduleFindings(storage: GuardedStorage, clock: Clock): Promise<Finding[]> {
  const found: Finding[] = []
  const owners = await scheduleOwners(storage)
  if (owners.length === 0) return found
  const time = new StorageTime(storage, clock)
  const now = await time.now()
  for (const owner of owners) {
    const store = new ScheduleStore(storage, owner, time)
    const marks = await store.marks()
    for (const schedule of await store.list()) {
      if (schedule.paused) continue
      // Without croner, the process that fires it knows better.
      const instants = await instantsOf(schedule).catch(() => undefined)
      const slotAt = instants?.next(Math.max(schedule.since, marks.get(schedule.name)?.passedTo ?? 0))
      if (slotAt === undefined || slotAt + schedule.graceMs >= now) continue
      found.push({
        code: 'schedule_late',
        severity: 'error',
        sentence: `schedule '${schedule.name}' of ${typeText(owner)} was to fire at ${clockTime(slotAt, now)}, and no process did`,
        fix: 'Start a process that declares or serves it, or pause or remove the schedule.',
      })
    }
  }
  return found
}
