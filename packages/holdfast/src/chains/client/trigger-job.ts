// triggerJob: a job that waits for its time is due now; a last job that failed or was cancelled is live again.

import { HoldfastError } from '../../errors.ts'
import type { JobRef, JobState } from '../../storage/storage.ts'
import type { Dependencies } from '../dependencies.ts'
import { jobOf, jobParts, type PlainJob } from '../job/records.ts'
import { chainRefOf } from '../job/stored-type.ts'
import { afterCommit } from '../transactions/after-commit.ts'

const triggerable: readonly JobState[] = ['scheduled', 'failing', 'failed', 'cancelled']

/** @throws JOB_NOT_FOUND, NOT_TRIGGERABLE, DEDUPLICATION_CONFLICT */
export async function triggerJob(
  { storage, publishChainEvent }: Dependencies,
  ref: JobRef,
  tx: unknown,
): Promise<PlainJob> {
  const { typeName, id } = chainRefOf(ref)
  const fail = (code: 'JOB_NOT_FOUND' | 'NOT_TRIGGERABLE' | 'DEDUPLICATION_CONFLICT', what: string, state?: JobState) =>
    new HoldfastError(code, `job '${id}' of '${typeName}' ${what}`, { typeName, jobId: id, ...(state && { state }) })
  const missing = (): HoldfastError => fail('JOB_NOT_FOUND', 'does not exist')
  const refused = (state: JobState): HoldfastError =>
    fail('NOT_TRIGGERABLE', `is ${state}, and only a ${triggerable.join(', ')} job can be triggered`, state)
  const read = async () => (await storage.get([ref], { parts: jobParts, tx }))[0]

  // A queued job would only lose its position. One that comes to be queued after this check does, and is due all the same.
  const before = await read()
  if (!before) throw missing()
  if (!triggerable.includes(before.state)) throw refused(before.state)
  const [answer] = await storage.revive([ref], { tx })
  switch (answer!.verdict) {
    case 'not_found':
      throw missing()
    case 'conflict':
      throw fail('DEDUPLICATION_CONFLICT', 'cannot live again: another chain has its deduplication key or id')
    case 'not_revivable':
      throw refused((await read())?.state ?? before.state)
    default: {
      afterCommit(tx, (committed) =>
        publishChainEvent('jobTriggered', { typeName, id, ...(committed === 'unknown' ? { committed } : {}) }),
      )
      const record = await read()
      if (!record) throw missing()
      return jobOf(record)
    }
  }
}
