// A call to cancel a message that waits for the end of one that runs.

import type { Clock } from '../../clock.ts'
import { engineDefaults } from '../../engine/defaults.ts'
import type { GuardedStorage } from '../../engine/guard.ts'
import type { CancelResult } from '../../engine/operate/cancel.ts'
import { isTerminal } from '../../storage/rules/job/states.ts'
import type { JobRef, JobState } from '../../storage/storage.ts'

interface Waiting {
  readonly storage: Pick<GuardedStorage, 'get' | 'listen'>
  readonly clock: Clock
  readonly job: JobRef
  readonly waitMs: number
}

/** Waits for the end of a message that was asked to stop. */
export async function cancelledWithin({ storage, clock, job, waitMs }: Waiting): Promise<CancelResult> {
  const deadline = clock.monotonic() + waitMs
  let wake = Promise.withResolvers<void>()
  const unlisten = await storage.listen([{ kind: 'done', type: job.type }], ({ ids }) => {
    if (!ids || ids.includes(job.id)) wake.resolve()
  })
  try {
    for (;;) {
      const woken = wake.promise
      const [record] = await storage.get([job])
      // A completed message is deleted at once; a cancelled one only if its retention is 0.
      if (!record) return { status: 'completed' }
      if (isTerminal(record.state)) return { status: endOf(record.state) }
      const leftMs = deadline - clock.monotonic()
      if (leftMs <= 0) return { status: 'processing', aborting: true }
      // Hints may be lost: the poll is underneath.
      const timer = clock.after(Math.min(leftMs, engineDefaults.waitPollMs), () => wake.resolve())
      await woken
      timer.cancel()
      wake = Promise.withResolvers<void>()
    }
  } finally {
    await unlisten()
  }
}

const endOf = (state: JobState) => state as 'completed' | 'failed' | 'cancelled'
