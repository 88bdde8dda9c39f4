// doctor: what may cost jobs or keep them from running, found in the types, workers, limits and schedules of a storage, and by its driver.
// It changes nothing; one hint is sent, to see whether it arrives.

import type { Clock } from '../../clock.ts'
import type { Finding } from '../../storage/storage.ts'
import type { GuardedStorage } from '../guard.ts'
import { listWorkers } from '../operate/list-workers.ts'
import { clockFindings } from './clock.ts'
import { hintFindings } from './hints.ts'
import { jobFindings } from './jobs.ts'
import { limitFindings } from './limits.ts'
import { scheduleFindings } from './schedules.ts'
import { workerFindings } from './workers.ts'

const rank = ({ severity }: Finding): number => (severity === 'error' ? 0 : 1)

/** The most severe first. */
export async function diagnose(storage: GuardedStorage, clock: Clock): Promise<Finding[]> {
  const workers = await listWorkers(storage)
  const sentAt = clock.now()
  const counts = await storage.count({})
  const answeredAt = clock.now()
  const found = [
    ...((await storage.diagnose?.()) ?? []),
    ...clockFindings(counts.now, sentAt, answeredAt),
    ...jobFindings(counts, workers),
    ...workerFindings(workers),
    ...(await limitFindings(storage)),
    ...(await scheduleFindings(storage, clock)),
    ...(await hintFindings(storage, clock)),
  ]
  return found.toSorted((a, b) => rank(a) - rank(b))
}
