// triggerJob: what waits for its time is due now; a last job that failed or was cancelled is live again.

import { HoldfastError } from '../../errors.ts'
import type { JobRef, JobState } from '../../storage/storage.ts'
import { afterCommit } from '../attempt/commits.ts'
import type { Ground } from '../dependencies.ts'
import { jobOf, jobParts, type PlainJob } from './reading.ts'

const triggerable: readonly JobState[] = ['scheduled', 'failing', 'failed', 'cancelled']

/** @throws JOB_NOT_FOUND, NOT_TRIGGERABLE, DEDUPLICATION_CONFLICT */
export async function triggerJob({ storage, tellChains }: Ground, ref: JobRef, tx: unknown): Promise<PlainJob> {
  const about = { typeName: ref.type, jobId: ref.id }
  const missing = (): HoldfastError => new HoldfastError('JOB_NOT_FOUND', `there is no job '${ref.id}'`, about)
  const read = async () => (await storage.get([ref], { parts: jobParts, tx }))[0]
  const refuse = (state: JobState): HoldfastError =>
    new HoldfastError('NOT_TRIGGERABLE', `job '${ref.id}' is ${state}`, { ...about, state })

  // What is queued would only lose its place in line. One that comes to be queued meanwhile does, and is due all the same.
  const before = await read()
  if (!before) throw missing()
  if (!triggerable.includes(before.state)) throw refuse(before.state)
  const [answer] = await storage.revive([ref], { tx })
  switch (answer!.verdict) {
    case 'not_found':
      throw missing()
    case 'conflict':
      throw new HoldfastError('DEDUPLICATION_CONFLICT', `the key of '${ref.id}' was taken by another since`, about)
    case 'not_revivable':
      throw refuse((await read())?.state ?? before.state)
    default: {
      afterCommit(tx, (committed) =>
        tellChains('jobTriggered', {
          typeName: ref.type,
          id: ref.id,
          ...(committed === 'unknown' ? { committed } : {}),
        }),
      )
      const record = await read()
      if (!record) throw missing()
      return jobOf(record)
    }
  }
}
