// Reasons that workers give: there is none, or all are busy. Workers describe themselves (presence), so this is as old as their last
// write; one with `presenceMs: false` is not known.

import { parseType } from '../../../storage/stored-type.ts'
import type { Reason } from '../explanation.ts'
import type { Facts } from '../facts.ts'
import { clockTime, reason, typeText } from '../sentence.ts'
import { counted } from '../../../count-text.ts'

export function workerReasons({ ref, workers: all, now }: Facts): Reason[] {
  if (!all) return []
  const wanted = parseType(ref.type)
  const workers = all.filter(({ types }) =>
    types.some(({ face, name }) => face === wanted.face && name === wanted.name),
  )
  if (workers.length === 0) {
    const sentence = `no worker of ${typeText(ref.type)} is known to be alive (one with presenceMs: false would not be)`
    return [reason('no_worker', sentence)]
  }
  const slots = workers.reduce((sum, { concurrency }) => sum + concurrency, 0)
  const used = workers.reduce((sum, { slotsUsed }) => sum + slotsUsed, 0)
  if (used < slots) return []
  const lastSeenAt = Math.max(...workers.map((worker) => worker.lastSeenAt))
  const seen = clockTime(lastSeenAt, now)
  const sentence = `all ${counted(slots, 'slot')} of ${counted(workers.length, 'worker')} were taken when last seen, at ${seen}`
  return [reason('workers_full', sentence, { workers: workers.length, slots, used, lastSeenAt })]
}
